import type { PageTexts } from './en.ts'

export const it: PageTexts = {
  brokenLink: 'Questo link non funziona',
  brokenTrackedLink: 'Il link potrebbe essere incompleto. Fai di nuovo clic sul link nell’email.',
  suspended: {
    title: 'Al momento non è possibile',
    text: 'Il mittente non può ricevere iscrizioni né moduli in questo momento. Riprova più tardi.',
  },
  continue: 'Continua',
  subscription: {
    emails: (list, sender) => `«${list}» di ${sender}`,
    anyEmails: 'le email di questa lista',
    confirm: {
      title: 'Conferma la tua iscrizione',
      text: (emails) =>
        `Fai clic sul pulsante per ricevere ${emails}. Puoi annullare l’iscrizione in qualsiasi momento.`,
      button: 'Conferma l’iscrizione',
    },
    confirmed: {
      title: 'La tua iscrizione è confermata',
      text: (emails) => `Da ora riceverai ${emails}. Puoi chiudere questa pagina.`,
    },
    unsubscribe: {
      title: 'Annulla l’iscrizione',
      text: (emails) => `Fai clic sul pulsante per non ricevere più ${emails}.`,
      button: 'Annulla l’iscrizione',
    },
    unsubscribed: {
      title: 'La tua iscrizione è annullata',
      text: (emails) => `Non riceverai più ${emails}.`,
      undo: 'Se è stato un errore, puoi annullare l’operazione entro dieci minuti.',
      button: 'Iscriviti di nuovo',
    },
    restored: {
      title: 'La tua iscrizione è di nuovo attiva',
      text: (emails) => `Riceverai ${emails} come prima. Puoi chiudere questa pagina.`,
    },
    test: {
      title: 'Questa è un’email di prova',
      text: 'Qui il link non ha alcun effetto. Nella campagna annulla l’iscrizione del destinatario.',
    },
    brokenConfirmation:
      'Il link potrebbe essere incompleto o risalire a più di sette giorni fa. Usa il link dell’email più recente oppure iscriviti di nuovo.',
    brokenUnsubscribe:
      'Il link è incompleto. Fai di nuovo clic sul link nell’email, oppure rispondi all’email e chiedi la cancellazione.',
    brokenUndo:
      'È possibile solo entro dieci minuti dall’annullamento dell’iscrizione. Iscriviti di nuovo dove l’avevi fatto la prima volta.',
  },
  tracking: {
    opens: 'quando apri le sue email',
    clicks: 'su quali link delle sue email fai clic',
    opensAndClicks: 'quando apri le sue email e su quali link fai clic',
    confirm: {
      title: 'Conferma che cosa si può registrare',
      text: (sender, what) =>
        `Fai clic sul pulsante per consentire a ${sender} di registrare ${what}. Puoi cambiare idea in qualsiasi momento.`,
      button: 'Conferma',
    },
    confirmed: {
      title: 'Grazie',
      text: (sender, what) => `Da ora ${sender} può registrare ${what}. Puoi chiudere questa pagina.`,
    },
    broken:
      'Il link potrebbe essere incompleto o risalire a più di sette giorni fa, oppure nel frattempo hai fatto un’altra scelta. Non è stato modificato nulla.',
  },
  preferences: {
    title: 'Le tue preferenze email',
    text: (sender, email) => `Scegli quali email ${sender} invia a ${email}.`,
    received: 'Ricevi',
    left: 'Non ricevi più',
    pending: 'In attesa di conferma',
    noLists: (sender) => `${sender} non ti invia nessuna newsletter.`,
    asked: (email) => `Per iscriverti di nuovo, usa il link nell’email che abbiamo inviato a ${email}.`,
    notAsked:
      'Non è stata inviata alcuna email, perché ne hai ricevuta una poco fa. Usa il link che contiene oppure riprova più tardi.',
    stop: {
      title: 'Non ricevere più email',
      text: (sender) => `${sender} non ti invierà più email, nemmeno le newsletter create in futuro.`,
      button: 'Interrompi tutte le email',
    },
    stopped: (sender) => `${sender} non ti invia più email, nemmeno le newsletter create in futuro.`,
    tracking: {
      title: 'Che cosa si può registrare',
      opens: 'Quando apro le email',
      clicks: 'Su quali link faccio clic',
      levels: {
        PERSON: 'Al momento viene registrato',
        ANONYMOUS: 'Al momento viene contato, senza il tuo nome',
        OFF: 'Al momento non viene registrato',
      },
      button: 'Salva',
      saved: 'Salvato. Ciò che non consenti non viene più registrato, nemmeno per le email che hai già ricevuto.',
      asked: (email) => `Per consentirlo, usa il link nell’email che abbiamo inviato a ${email}.`,
    },
    data: {
      title: 'I tuoi dati',
      text: (sender, email) => `Tutto ciò che ${sender} conserva su di te, in un’email a ${email}.`,
      button: 'Inviami i miei dati',
      sent: (email) => `Stiamo inviando i tuoi dati a ${email}.`,
      notSent: 'Ti abbiamo inviato i tuoi dati poco fa. Riprova più tardi.',
    },
    former:
      'Questo link appartiene a un indirizzo email precedente e quindi non può mostrare che cosa ricevi. Da qui puoi comunque interrompere tutte le email.',
    erased: (sender) => `${sender} non conserva alcun dato su di te.`,
    erasedAndStopped: (sender) => `${sender} conserva soltanto la tua richiesta di non ricevere email.`,
    closed: {
      title: 'Questo mittente non esiste più',
      text: 'Non ti invia più email e non conserva alcun dato su di te.',
    },
    test: 'Qui il link non ha alcun effetto. Nella campagna porta alle preferenze del destinatario.',
    link: 'Tutte le preferenze email',
  },
  form: {
    problems: 'Correggi quanto segue:',
    titleWithProblems: (form) => `Da controllare: ${form}`,
    changed: 'Questo modulo è cambiato. Controlla le tue risposte e invialo di nuovo.',
    optional: '(facoltativo)',
    choose: 'Seleziona un’opzione',
    honeypot: 'Lascia vuoto questo campo',
    send: 'Invia',
    unavailable: {
      title: 'Questo modulo non è disponibile',
      text: 'Potrebbe essere stato chiuso, oppure il link è incompleto.',
    },
    failed: 'Non è stato possibile inviare il modulo. Riprova.',
    tooManyAttempts: 'Troppi tentativi. Riprova tra un minuto.',
  },
  account: {
    name: 'Il tuo nome',
    email: 'Email',
    password: 'Password',
    forgotPassword: {
      title: 'Hai dimenticato la password?',
      text: 'Inserisci l’indirizzo email del tuo account. Ti invieremo un link per scegliere una nuova password.',
      button: 'Invia il link',
      done: {
        title: 'Controlla la tua casella di posta',
        text: 'Se esiste un account con questo indirizzo, abbiamo inviato un link. Scade tra un’ora.',
      },
    },
    resetPassword: {
      title: 'Scegli una nuova password',
      heading: (email) => `Scegli una nuova password per ${email}`,
      text: 'Usa almeno 12 caratteri. L’accesso verrà chiuso su tutti i dispositivi.',
      button: 'Salva la password',
      done: { title: 'La tua password è stata salvata', text: 'Ora puoi accedere con la nuova password.' },
      broken:
        'Potrebbe essere incompleto, già usato o risalire a più di un’ora fa. Richiedi un nuovo link per scegliere una password.',
      requestLink: 'Richiedi un nuovo link',
    },
    acceptInvite: {
      title: (workspace) => `Unisciti a ${workspace}`,
      heading: (workspace, email) => `Unisciti a ${workspace} come ${email}`,
      newAccount: 'Scegli una password di almeno 12 caratteri.',
      knownAccount: 'Hai già un account con questo indirizzo. Inserisci la sua password.',
      button: 'Unisciti',
      done: { title: 'Ti diamo il benvenuto', text: 'Ora fai parte dello spazio di lavoro e puoi accedere.' },
      broken:
        'Potrebbe essere incompleto, già usato, ritirato o risalire a più di sette giorni fa. Chiedi a chi ti ha invitato di inviare di nuovo l’invito.',
      wrongPassword: 'Esiste già un account con questo indirizzo: usa la sua password.',
    },
    verifyEmail: {
      title: 'Conferma il tuo indirizzo email',
      heading: (email) => `Conferma ${email}`,
      text: 'Inserisci la password per confermare che questo indirizzo email è tuo.',
      button: 'Conferma',
      done: { title: 'Il tuo indirizzo email è confermato', text: 'Grazie. Puoi chiudere questa pagina.' },
      broken:
        'Potrebbe essere incompleto o risalire a più di sette giorni fa. Richiedi una nuova email di conferma. Oppure scegli una nuova password: anche così il tuo indirizzo viene confermato.',
      wrongPassword: 'La password è errata.',
    },
    problems: {
      passwordMissing: 'Inserisci una password.',
      passwordLength: 'La password deve avere da 12 a 128 caratteri.',
      passwordUnsuitable: 'La password è troppo comune o contiene caratteri non ammessi. Scegline un’altra.',
      name: 'Il nome può avere al massimo 200 caratteri, senza interruzioni di riga.',
      tooManyAttempts: 'Troppi tentativi non riusciti. Attendi qualche minuto e riprova.',
      failed: 'Qualcosa non ha funzionato. Riprova più tardi.',
    },
  },
}
