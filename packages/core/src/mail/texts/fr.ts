import type { MailTexts } from './en.ts'

export const fr: MailTexts = {
  confirmation: {
    title: (list) => `Confirmez votre inscription à «\u202f${list}\u202f»`,
    text: (sender, list, address) =>
      `Veuillez confirmer votre inscription\u202f: ${sender} pourra envoyer «\u202f${list}\u202f» à l’adresse ${address}.`,
    tracking: (sender, what) =>
      `Sur la page, vous pourrez aussi autoriser ${sender} à enregistrer ${what}. Votre inscription n’en dépend pas.`,
    button: 'Confirmer l’inscription',
    small:
      'Ce lien est valable sept jours. Si vous n’êtes pas à l’origine de cette demande, vous pouvez ignorer cet e-mail\u202f: sans votre confirmation, aucune inscription n’aura lieu.',
  },
  tracking: {
    opens: 'à quel moment vous ouvrez ses e-mails',
    clicks: 'à quel moment vous cliquez sur les liens de ses e-mails',
    opensAndClicks: 'à quel moment vous ouvrez ses e-mails et cliquez sur leurs liens',
    title: (sender) => `Confirmez ce qui peut être enregistré par ${sender}`,
    text: (sender, what) => `Veuillez confirmer votre accord\u202f: ${sender} pourra enregistrer ${what}.`,
    button: 'Confirmer',
    small:
      'Ce lien est valable sept jours. Si vous n’êtes pas à l’origine de cette demande, vous pouvez ignorer cet e-mail\u202f: rien ne changera.',
  },
  personalData: {
    title: (sender) => `Vos données (${sender})`,
    attached: (sender) =>
      `Le fichier joint contient toutes les données à votre sujet conservées par ${sender} dans sa base de contacts. C’est un fichier JSON, que vous pouvez ouvrir avec n’importe quel éditeur de texte.`,
    tooLarge: (sender) =>
      `Les données à votre sujet conservées par ${sender} dans sa base de contacts sont trop volumineuses pour un e-mail. Veuillez contacter ${sender} pour les recevoir autrement.`,
    small:
      'Vous recevez cet e-mail parce qu’il a été demandé sur votre page de préférences. Il n’a été envoyé qu’à votre adresse.',
  },
  invite: {
    title: (workspace) => `Rejoignez ${workspace}`,
    text: (workspace) => `Vous avez reçu une invitation à rejoindre l’espace de travail «\u202f${workspace}\u202f».`,
    button: 'Accepter l’invitation',
    small:
      'Ce lien est valable sept jours et ne fonctionne qu’une fois. Si vous n’attendiez pas cette invitation, vous pouvez ignorer cet e-mail.',
  },
  passwordReset: {
    title: 'Choisissez un nouveau mot de passe',
    text: (address) => `Nous avons reçu une demande de réinitialisation du mot de passe du compte ${address}.`,
    warning:
      'Cette adresse n’a jamais été confirmée\u202f: il est possible qu’une autre personne ait créé le compte. Pour votre sécurité, le choix d’un nouveau mot de passe révoque aussi les clés d’API et les invitations créées par ce compte, désactive les webhooks des espaces de travail qui appartiennent à ce compte et supprime leurs hooks d’e-mail. Veuillez ensuite vérifier les membres de ces espaces.',
    button: 'Choisir un nouveau mot de passe',
    small:
      'Ce lien est valable une heure et ne fonctionne qu’une fois. Si vous n’êtes pas à l’origine de cette demande, vous pouvez ignorer cet e-mail\u202f: votre mot de passe reste inchangé.',
  },
  verification: {
    title: 'Confirmez votre adresse e-mail',
    text: (host, address) => `Un compte a été créé sur ${host} pour ${address}.`,
    request: 'Veuillez confirmer que cette adresse e-mail est la vôtre.',
    button: 'Confirmer l’adresse e-mail',
    small:
      'Ce lien est valable sept jours\u202f; votre mot de passe vous sera demandé. Si vous n’avez pas créé ce compte, vous pouvez ignorer cet e-mail, ou réinitialiser le mot de passe pour prendre le contrôle du compte.',
  },
  footer: {
    reason: (list) => `Vous recevez cet e-mail parce que votre adresse est inscrite à «\u202f${list}\u202f».`,
    unsubscribe: 'Se désinscrire',
    preferences: 'Préférences e-mail',
  },
  emailFooter: {
    REQUEST: (sender) => `Vous recevez cet e-mail de ${sender} parce que vous l’avez demandé.`,
    CONTRACT: (sender) => `Vous recevez cet e-mail de ${sender} en raison de votre compte ou de votre commande.`,
    SECURITY: (sender) => `Vous recevez cet e-mail de ${sender} parce qu’il concerne la sécurité de votre compte.`,
    LEGAL: (sender) => `Vous recevez cet e-mail de ${sender} parce que la loi l’exige.`,
  },
}
