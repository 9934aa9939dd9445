import type { PageTexts } from './en.ts'

export const fr: PageTexts = {
  brokenLink: 'Ce lien ne fonctionne pas',
  brokenTrackedLink: 'Le lien est peut-être incomplet. Veuillez cliquer de nouveau sur ce lien dans l’e-mail.',
  suspended: {
    title: 'Ce n’est pas possible pour le moment',
    text: 'Ce service est actuellement indisponible. Veuillez réessayer plus tard.',
  },
  tooManyRequests: {
    title: 'Veuillez réessayer dans une minute',
    text: 'Cette page a été ouverte trop souvent depuis votre réseau. Rien n’a été modifié.',
  },
  unavailable: {
    title: 'Ce n’est pas possible pour le moment',
    text: 'Veuillez réessayer dans un instant. Rien n’a été modifié.',
  },
  continue: 'Continuer',
  subscription: {
    emails: (list, sender) => `«\u202f${list}\u202f» (${sender})`,
    anyEmails: 'les e-mails de cette liste',
    allNewsletters: 'les newsletters de cet expéditeur, y compris celles créées par la suite',
    confirm: {
      title: 'Confirmez votre inscription',
      text: (emails) => `Cliquez sur le bouton pour recevoir ${emails}. Vous pourrez vous désinscrire à tout moment.`,
      button: 'Confirmer l’inscription',
    },
    confirmed: {
      title: 'Votre inscription est confirmée',
      text: (emails) => `Vous recevrez désormais ${emails}. Vous pouvez fermer cette page.`,
    },
    unsubscribe: {
      title: 'Se désinscrire',
      text: (emails) => `Cliquez sur le bouton pour ne plus recevoir ${emails}.`,
      button: 'Se désinscrire',
    },
    unsubscribed: {
      title: 'Votre désinscription est confirmée',
      text: (emails) => `Vous ne recevrez plus ${emails}.`,
      undo: 'S’il s’agit d’une erreur, vous pouvez annuler cette désinscription dans les dix minutes.',
      button: 'Se réinscrire',
    },
    restored: {
      title: 'Votre inscription est rétablie',
      text: (emails) => `Vous recevrez ${emails} comme auparavant. Vous pouvez fermer cette page.`,
    },
    test: {
      title: 'Ceci est un e-mail de test',
      text: 'Ici, le lien n’a aucun effet. Dans la campagne, il permet de se désinscrire.',
    },
    brokenConfirmation:
      'Le lien est peut-être incomplet ou date de plus de sept jours. Veuillez utiliser le lien du dernier e-mail reçu, ou vous inscrire de nouveau.',
    brokenUnsubscribe:
      'Le lien est incomplet. Veuillez cliquer de nouveau sur ce lien dans l’e-mail, ou répondre à l’e-mail pour demander votre désinscription.',
    brokenUndo:
      'L’annulation n’est possible que dans les dix minutes qui suivent la désinscription. Veuillez vous inscrire de nouveau là où vous l’aviez fait la première fois.',
  },
  tracking: {
    opens: 'à quel moment vous ouvrez ses e-mails',
    clicks: 'à quel moment vous cliquez sur les liens de ses e-mails',
    opensAndClicks: 'à quel moment vous ouvrez ses e-mails et cliquez sur leurs liens',
    also: (sender) =>
      `Vous pouvez aussi autoriser ${sender} à enregistrer ce qui suit. Votre inscription n’en dépend pas, et vous pouvez changer d’avis à tout moment.`,
    granted: (sender, what) => `${sender} peut désormais enregistrer ${what}.`,
    confirm: {
      title: 'Confirmez ce qui peut être enregistré',
      text: (sender, what) =>
        `Cliquez sur le bouton pour autoriser ${sender} à enregistrer ${what}. Vous pouvez changer d’avis à tout moment.`,
      button: 'Confirmer',
    },
    confirmed: {
      title: 'Merci',
      text: (sender, what) => `${sender} peut désormais enregistrer ${what}. Vous pouvez fermer cette page.`,
    },
    broken:
      'Le lien est peut-être incomplet ou date de plus de sept jours, ou bien vous avez fait un autre choix depuis. Rien n’a été modifié.',
  },
  preferences: {
    title: 'Vos préférences e-mail',
    text: (sender, email) => `Choisissez les e-mails envoyés par ${sender} à ${email}.`,
    received: 'Vous recevez',
    left: 'Vous ne recevez plus',
    pending: 'Inscription à confirmer',
    noLists: (sender) => `${sender} ne vous envoie aucune newsletter.`,
    asked: (email) =>
      `Pour vous réinscrire, cliquez sur le lien contenu dans l’e-mail que nous avons envoyé à ${email}.`,
    notAsked:
      'Aucun e-mail n’a été envoyé. Vous en avez peut-être reçu un récemment\u202f: veuillez utiliser le lien qu’il contient ou réessayer plus tard.',
    stop: {
      title: 'Ne plus recevoir de newsletters',
      text: (sender) =>
        `${sender} ne vous enverra plus aucune newsletter, pas même celles créées par la suite. Les e-mails relatifs à un compte ou à une commande continuent d’arriver.`,
      button: 'Se désinscrire de toutes les newsletters',
    },
    stopped: (sender) =>
      `${sender} ne vous envoie plus aucune newsletter, pas même celles créées par la suite. Les e-mails relatifs à un compte ou à une commande continuent d’arriver.`,
    tracking: {
      title: 'Ce qui peut être enregistré',
      opens: 'Le moment où j’ouvre les e-mails',
      clicks: 'Le moment où je clique sur les liens',
      levels: {
        PERSON: 'Enregistré actuellement',
        ANONYMOUS: 'Compté actuellement, sans votre nom',
        OFF: 'Non enregistré actuellement',
      },
      button: 'Valider mes choix',
      saved:
        'C’est noté. Ce que vous n’autorisez pas n’est plus enregistré à votre sujet, même pour les e-mails que vous avez déjà reçus.',
      asked: (email) => `Pour l’autoriser, cliquez sur le lien contenu dans l’e-mail que nous avons envoyé à ${email}.`,
    },
    data: {
      title: 'Vos données',
      text: (sender, email) =>
        `Toutes les données à votre sujet conservées par ${sender} dans sa base de contacts, par e-mail à ${email}.`,
      button: 'Recevoir mes données',
      sent: (email) => `Nous envoyons vos données à ${email}.`,
      notSent:
        'Vos données n’ont pas été envoyées. Vous les avez peut-être reçues récemment. Veuillez réessayer plus tard.',
    },
    former:
      'Ce lien correspond à une ancienne adresse e-mail et ne peut donc pas afficher ce que vous recevez. Vous pouvez toutefois vous désinscrire ici de toutes les newsletters.',
    erased: (sender) => `${sender} ne conserve aucune donnée à votre sujet dans sa base de contacts.`,
    erasedAndStopped: (sender) =>
      `Dans sa base de contacts, ${sender} conserve seulement votre souhait de ne plus recevoir de newsletters.`,
    closed: {
      title: 'Cet expéditeur n’existe plus',
      text: 'Il ne vous envoie plus de newsletters et vos données sont supprimées.',
    },
    test: 'Ici, le lien n’a aucun effet. Dans la campagne, il mène aux préférences de chaque destinataire.',
    link: 'Toutes vos préférences e-mail',
  },
  form: {
    problems: 'Veuillez corriger les points suivants\u202f:',
    titleWithProblems: (form) => `À vérifier\u202f: ${form}`,
    changed: 'Ce formulaire a été modifié. Veuillez vérifier vos réponses et l’envoyer de nouveau.',
    optional: '(facultatif)',
    choose: 'Veuillez choisir',
    honeypot: 'Laissez ce champ vide',
    send: 'Envoyer',
    unavailable: {
      title: 'Ce formulaire n’est pas disponible',
      text: 'Il a peut-être été fermé, ou le lien est incomplet.',
    },
    failed: 'Le formulaire n’a pas pu être envoyé. Veuillez réessayer.',
    confirm:
      'Si vous souhaitez recevoir des e-mails, veuillez le confirmer avec le lien dans l’e-mail que nous vous envoyons.',
    tooManyAttempts: 'Trop de tentatives. Veuillez réessayer dans une minute.',
  },
  account: {
    name: 'Votre nom',
    email: 'Adresse e-mail',
    password: 'Mot de passe',
    forgotPassword: {
      title: 'Mot de passe oublié\u202f?',
      text: 'Saisissez l’adresse e-mail de votre compte. Nous vous enverrons un lien pour choisir un nouveau mot de passe.',
      button: 'Envoyer le lien',
      done: {
        title: 'Consultez votre messagerie',
        text: 'Si un compte existe pour cette adresse, nous y avons envoyé un lien. Il est valable une heure.',
      },
    },
    resetPassword: {
      title: 'Choisissez un nouveau mot de passe',
      heading: (email) => `Choisissez un nouveau mot de passe pour ${email}`,
      text: 'Utilisez au moins 12 caractères. Toutes vos sessions en cours prendront fin.',
      button: 'Enregistrer le mot de passe',
      done: {
        title: 'Votre mot de passe est enregistré',
        text: 'Vous êtes déconnecté de tous les appareils. Vous pouvez fermer cette page.',
      },
      broken:
        'Il est peut-être incomplet, a déjà été utilisé ou date de plus d’une heure. Demandez un nouveau lien pour choisir un mot de passe.',
      requestLink: 'Demander un nouveau lien',
    },
    acceptInvite: {
      title: (workspace) => `Rejoindre ${workspace}`,
      heading: (workspace, email) => `Rejoindre ${workspace} avec l’adresse ${email}`,
      newAccount: 'Choisissez un mot de passe d’au moins 12 caractères.',
      knownAccount: 'Vous avez déjà un compte avec cette adresse. Saisissez son mot de passe.',
      button: 'Rejoindre',
      done: {
        title: 'Bienvenue',
        text: 'Vous avez rejoint l’espace de travail. Vous pouvez fermer cette page.',
      },
      broken:
        'Il est peut-être incomplet, a déjà été utilisé, a été annulé ou date de plus de sept jours. Demandez à la personne qui vous a envoyé l’invitation de vous la renvoyer.',
      wrongPassword: 'Un compte existe déjà pour cette adresse\u202f: saisissez son mot de passe.',
    },
    verifyEmail: {
      title: 'Confirmez votre adresse e-mail',
      heading: (email) => `Confirmez ${email}`,
      text: 'Saisissez votre mot de passe pour confirmer que cette adresse e-mail est la vôtre.',
      button: 'Confirmer',
      done: { title: 'Votre adresse e-mail est confirmée', text: 'Merci. Vous pouvez fermer cette page.' },
      broken:
        'Il est peut-être incomplet ou date de plus de sept jours. Demandez un nouvel e-mail de confirmation. Ou choisissez un nouveau mot de passe\u202f: cela confirme aussi votre adresse.',
      wrongPassword: 'Le mot de passe est incorrect.',
    },
    problems: {
      passwordMissing: 'Veuillez saisir un mot de passe.',
      passwordLength: 'Le mot de passe doit comporter entre 12 et 128 caractères.',
      passwordUnsuitable:
        'Ce mot de passe est trop courant ou contient des caractères non autorisés. Veuillez en choisir un autre.',
      name: 'Votre nom peut comporter au maximum 200 caractères, sans saut de ligne.',
      tooManyAttempts: 'Trop de tentatives infructueuses. Veuillez patienter quelques minutes avant de réessayer.',
      failed: 'L’opération a échoué. Veuillez réessayer plus tard.',
    },
  },
}
