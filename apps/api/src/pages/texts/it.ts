import type { PageTexts } from './en.ts'

export const it: PageTexts = {
  brokenLink: 'Questo link non funziona',
  brokenTrackedLink: 'Il link potrebbe essere incompleto. Faccia di nuovo clic sul link nell’email.',
  suspended: {
    title: 'Al momento non è possibile',
    text: 'Questo servizio non è disponibile al momento. Riprovi più tardi.',
  },
  tooManyRequests: {
    title: 'Riprovi tra un minuto',
    text: 'Questa pagina è stata aperta troppe volte dalla Sua rete. Non è stato modificato nulla.',
  },
  unavailable: {
    title: 'Al momento non è possibile',
    text: 'Riprovi tra qualche istante. Non è stato modificato nulla.',
  },
  continue: 'Continua',
  subscription: {
    emails: (list, sender) => `«${list}» di ${sender}`,
    anyEmails: 'le email di questa lista',
    allNewsletters: 'le newsletter di questo mittente, comprese quelle create in futuro',
    confirm: {
      title: 'Confermi la Sua iscrizione',
      text: (emails) =>
        `Faccia clic sul pulsante per ricevere ${emails}. Può annullare l’iscrizione in qualsiasi momento.`,
      button: 'Conferma iscrizione',
    },
    confirmed: {
      title: 'La Sua iscrizione è confermata',
      text: (emails) => `D’ora in poi riceverà ${emails}. Può chiudere questa pagina.`,
    },
    unsubscribe: {
      title: 'Annulla iscrizione',
      text: (emails) => `Faccia clic sul pulsante per non ricevere più ${emails}.`,
      button: 'Annulla iscrizione',
    },
    unsubscribed: {
      title: 'La Sua iscrizione è annullata',
      text: (emails) => `Non riceverà più ${emails}.`,
      undo: 'Se è stato un errore, può ripristinare l’iscrizione entro dieci minuti.',
      button: 'Riattiva iscrizione',
    },
    restored: {
      title: 'La Sua iscrizione è di nuovo attiva',
      text: (emails) => `Riceverà ${emails} come prima. Può chiudere questa pagina.`,
    },
    test: {
      title: 'Questa è un’email di prova',
      text: 'Qui il link non ha alcun effetto. Nella campagna serve ad annullare l’iscrizione.',
    },
    brokenConfirmation:
      'Il link potrebbe essere incompleto o risalire a più di sette giorni fa. Usi il link dell’email più recente oppure ripeta l’iscrizione.',
    brokenUnsubscribe:
      'Il link è incompleto. Faccia di nuovo clic sul link nell’email, oppure risponda all’email e chieda la cancellazione.',
    brokenUndo:
      'È possibile solo entro dieci minuti dall’annullamento dell’iscrizione. Ripeta l’iscrizione dove l’aveva fatta la prima volta.',
  },
  tracking: {
    opens: 'quando Lei apre le email di questo mittente',
    clicks: 'quando Lei fa clic sui link nelle email di questo mittente',
    opensAndClicks: 'quando Lei apre le email di questo mittente e fa clic sui link che contengono',
    also: (sender) =>
      `Può anche consentire a ${sender} di registrare quanto segue. La Sua iscrizione non dipende da questo, e può cambiare idea in qualsiasi momento.`,
    granted: (sender, what) => `D’ora in poi ${sender} può registrare ${what}.`,
    confirm: {
      title: 'Confermi che cosa si può registrare',
      text: (sender, what) =>
        `Faccia clic sul pulsante per consentire a ${sender} di registrare ${what}. Può cambiare idea in qualsiasi momento.`,
      button: 'Conferma',
    },
    confirmed: {
      title: 'Grazie',
      text: (sender, what) => `D’ora in poi ${sender} può registrare ${what}. Può chiudere questa pagina.`,
    },
    broken:
      'Il link potrebbe essere incompleto o risalire a più di sette giorni fa, oppure nel frattempo Lei ha fatto un’altra scelta. Non è stato modificato nulla.',
  },
  preferences: {
    title: 'Le Sue preferenze email',
    text: (sender, email) => `Scelga quali email ${sender} invia a ${email}.`,
    received: 'Email che riceve',
    left: 'Email che non riceve più',
    pending: 'In attesa di conferma',
    noLists: (sender) => `${sender} non Le invia nessuna newsletter.`,
    asked: (email) => `Per riattivare l’iscrizione, usi il link nell’email che abbiamo inviato a ${email}.`,
    notAsked:
      'Non è stata inviata alcuna email. È possibile che ne abbia ricevuta una poco fa: usi il link che contiene oppure riprovi più tardi.',
    stop: {
      title: 'Non ricevere più newsletter',
      text: (sender) =>
        `${sender} non Le invierà più newsletter, nemmeno quelle create in futuro. Le email relative a un account o a un ordine continueranno ad arrivare.`,
      button: 'Annulla tutte le iscrizioni',
    },
    stopped: (sender) =>
      `${sender} non Le invia più newsletter, né Le invierà quelle create in futuro. Le email relative a un account o a un ordine continueranno ad arrivare.`,
    tracking: {
      title: 'Che cosa si può registrare',
      opens: 'Quando apro le email',
      clicks: 'Quando faccio clic sui link',
      levels: {
        PERSON: 'Al momento viene registrato',
        ANONYMOUS: 'Al momento viene contato, senza il Suo nome',
        OFF: 'Al momento non viene registrato',
      },
      button: 'Salva',
      saved:
        'Salvato. Ciò che non consente non viene più registrato su di Lei, nemmeno per le email che ha già ricevuto.',
      asked: (email) => `Per consentirlo, usi il link nell’email che abbiamo inviato a ${email}.`,
    },
    data: {
      title: 'I Suoi dati',
      text: (sender, email) =>
        `Tutto ciò che ${sender} conserva su di Lei nel proprio archivio dei contatti, in un’email a ${email}.`,
      button: 'Inviatemi i miei dati',
      sent: (email) => `Stiamo inviando i Suoi dati a ${email}.`,
      notSent: 'I Suoi dati non sono stati inviati. È possibile che li abbia ricevuti poco fa. Riprovi più tardi.',
    },
    former:
      'Questo link appartiene a un indirizzo email precedente e quindi non può mostrare che cosa riceve. Da qui può comunque annullare tutte le iscrizioni.',
    erased: (sender) => `${sender} non conserva alcun dato su di Lei nel proprio archivio dei contatti.`,
    erasedAndStopped: (sender) =>
      `Nel proprio archivio dei contatti, ${sender} conserva soltanto la Sua richiesta di non ricevere newsletter.`,
    closed: {
      title: 'Questo mittente non esiste più',
      text: 'Non Le invia più newsletter e i Suoi dati vengono eliminati.',
    },
    test: 'Qui il link non ha alcun effetto. Nella campagna porta alle preferenze di ogni persona.',
    link: 'Tutte le preferenze email',
  },
  form: {
    problems: 'Corregga quanto segue:',
    titleWithProblems: (form) => `Da controllare: ${form}`,
    changed: 'Questo modulo è cambiato. Controlli le Sue risposte e lo invii di nuovo.',
    optional: '(facoltativo)',
    choose: 'Selezioni un’opzione',
    honeypot: 'Lasci vuoto questo campo',
    send: 'Invia',
    unavailable: {
      title: 'Questo modulo non è disponibile',
      text: 'Potrebbe essere stato chiuso, oppure il link è incompleto.',
    },
    failed: 'Non è stato possibile inviare il modulo. Riprovi.',
    confirm: 'Se desidera ricevere e-mail, lo confermi con il link nell’e-mail che Le inviamo.',
    tooManyAttempts: 'Troppi tentativi. Riprovi tra un minuto.',
  },
  account: {
    name: 'Il Suo nome',
    email: 'Email',
    password: 'Password',
    forgotPassword: {
      title: 'Ha dimenticato la password?',
      text: 'Inserisca l’indirizzo email del Suo account. Le invieremo un link per scegliere una nuova password.',
      button: 'Invia link',
      done: {
        title: 'Controlli la Sua casella di posta',
        text: 'Se esiste un account con questo indirizzo, abbiamo inviato un link. Scade tra un’ora.',
      },
    },
    resetPassword: {
      title: 'Scelga una nuova password',
      heading: (email) => `Scelga una nuova password per ${email}`,
      text: 'Usi almeno 12 caratteri. La sessione verrà chiusa su tutti i dispositivi.',
      button: 'Salva password',
      done: {
        title: 'La Sua nuova password è stata salvata',
        text: 'La sessione è stata chiusa su tutti i dispositivi. Può chiudere questa pagina.',
      },
      broken:
        'Potrebbe essere incompleto, già usato o risalire a più di un’ora fa. Richieda un nuovo link per scegliere una password.',
      requestLink: 'Richieda un nuovo link',
    },
    acceptInvite: {
      title: (workspace) => `Invito a ${workspace}`,
      heading: (workspace, email) => `Invito a ${workspace} per ${email}`,
      newAccount: 'Scelga una password di almeno 12 caratteri.',
      knownAccount: 'Ha già un account con questo indirizzo. Inserisca la password di questo account.',
      button: 'Accetta invito',
      done: {
        title: 'Le diamo il benvenuto',
        text: 'Ora fa parte dello spazio di lavoro. Può chiudere questa pagina.',
      },
      broken:
        'Potrebbe essere incompleto, già usato, annullato o risalire a più di sette giorni fa. Chieda a chi Le ha inviato l’invito di inviarlo di nuovo.',
      wrongPassword: 'Esiste già un account con questo indirizzo. Inserisca la password di questo account.',
    },
    verifyEmail: {
      title: 'Confermi il Suo indirizzo email',
      heading: (email) => `Confermi ${email}`,
      text: 'Inserisca la password per confermare che questo indirizzo email è Suo.',
      button: 'Conferma',
      done: { title: 'Il Suo indirizzo email è confermato', text: 'Grazie. Può chiudere questa pagina.' },
      broken:
        'Potrebbe essere incompleto o risalire a più di sette giorni fa. Richieda una nuova email di conferma. Oppure scelga una nuova password: anche così il Suo indirizzo viene confermato.',
      wrongPassword: 'La password è errata.',
    },
    problems: {
      passwordMissing: 'Inserisca una password.',
      passwordLength: 'La password deve avere da 12 a 128 caratteri.',
      passwordUnsuitable: 'La password è troppo comune o contiene caratteri non ammessi. Ne scelga un’altra.',
      name: 'Il nome può avere al massimo 200 caratteri, senza interruzioni di riga.',
      tooManyAttempts: 'Troppi tentativi non riusciti. Attenda qualche minuto e riprovi.',
      failed: 'L’operazione non è riuscita. Riprovi più tardi.',
    },
  },
}
