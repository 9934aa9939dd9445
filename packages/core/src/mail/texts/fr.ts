import type { MailTexts } from './en.ts'

export const fr: MailTexts = {
  confirmation: {
    title: (list) => `Confirmez votre inscription à ${list}`,
    text: (sender, list, address) =>
      `Veuillez confirmer que ${sender} peut envoyer «\u00a0${list}\u00a0» à l’adresse ${address}.`,
    button: 'Confirmer l’inscription',
    small:
      'Ce lien est valable sept jours. Si vous n’êtes pas à l’origine de cette demande, ignorez cet e-mail\u00a0: aucune inscription n’aura lieu.',
  },
  tracking: {
    opens: 'l’ouverture de ses e-mails',
    clicks: 'vos clics sur les liens de ses e-mails',
    opensAndClicks: 'l’ouverture de ses e-mails et vos clics sur leurs liens',
    title: (sender) => `Confirmez ce que ${sender} peut enregistrer`,
    text: (sender, what) => `Veuillez confirmer que ${sender} peut enregistrer ${what}.`,
    button: 'Confirmer',
    small:
      'Ce lien est valable sept jours. Si vous n’êtes pas à l’origine de cette demande, ignorez cet e-mail\u00a0: rien ne sera enregistré.',
  },
  personalData: {
    title: (sender) => `Vos données (${sender})`,
    attached: (sender) =>
      `Le fichier joint contient tout ce que ${sender} conserve à votre sujet. C’est un fichier JSON, que vous pouvez ouvrir avec n’importe quel éditeur de texte.`,
    tooLarge: (sender) =>
      `Les données que ${sender} conserve à votre sujet sont trop volumineuses pour un e-mail. Veuillez répondre à ce message pour les recevoir autrement.`,
    small:
      'Vous recevez cet e-mail parce qu’il a été demandé sur votre page de préférences. Il n’a été envoyé qu’à votre adresse.',
  },
  invite: {
    title: (workspace) => `Rejoignez ${workspace}`,
    text: (workspace) => `Vous avez reçu une invitation à rejoindre l’espace de travail «\u00a0${workspace}\u00a0».`,
    button: 'Accepter l’invitation',
    small:
      'Ce lien est valable sept jours et ne fonctionne qu’une fois. Si vous n’attendiez pas cette invitation, vous pouvez ignorer cet e-mail.',
  },
  passwordReset: {
    title: 'Choisissez un nouveau mot de passe',
    text: (address) => `Nous avons reçu une demande de réinitialisation du mot de passe de ${address}.`,
    warning:
      'Cette adresse n’a jamais été confirmée\u00a0: il est possible que quelqu’un d’autre ait créé le compte. Pour votre sécurité, choisir un nouveau mot de passe révoque aussi les clés d’API et les invitations créées par ce compte, et désactive les webhooks des espaces de travail qui lui appartiennent. Veuillez ensuite vérifier les membres de ces espaces.',
    button: 'Choisir un nouveau mot de passe',
    small:
      'Ce lien est valable une heure et ne fonctionne qu’une fois. Si vous n’êtes pas à l’origine de cette demande, vous pouvez ignorer cet e-mail\u00a0: votre mot de passe reste inchangé.',
  },
  verification: {
    title: 'Confirmez votre adresse e-mail',
    text: (host, address) => `Un compte a été créé sur ${host} pour ${address}.`,
    request: 'Veuillez confirmer que cette adresse e-mail est la vôtre.',
    button: 'Confirmer l’adresse e-mail',
    small:
      'Ce lien est valable sept jours\u00a0; votre mot de passe vous sera demandé. Si vous n’avez pas créé ce compte, vous pouvez ignorer cet e-mail, ou réinitialiser le mot de passe pour prendre le contrôle du compte.',
  },
  footer: {
    reason: (list) => `Vous recevez cet e-mail à la suite de votre inscription à ${list}.`,
    unsubscribe: 'Se désinscrire',
    preferences: 'Préférences',
  },
}
