import type { MailTexts } from './en.ts'

export const it: MailTexts = {
  confirmation: {
    title: (list) => `Conferma la tua iscrizione a ${list}`,
    text: (sender, list, address) => `Conferma che ${sender} può inviare «${list}» a ${address}.`,
    button: 'Conferma l’iscrizione',
    small:
      'Questo link scade tra sette giorni. Se non hai fatto tu questa richiesta, ignora questa email: non riceverai altri messaggi.',
  },
  tracking: {
    opens: 'quando apri le sue email',
    clicks: 'su quali link delle sue email fai clic',
    opensAndClicks: 'quando apri le sue email e su quali link fai clic',
    title: (sender) => `Conferma che cosa può registrare ${sender}`,
    text: (sender, what) => `Conferma che ${sender} può registrare ${what}.`,
    button: 'Conferma',
    small:
      'Questo link scade tra sette giorni. Se non hai fatto tu questa richiesta, ignora questa email: non verrà registrato nulla.',
  },
  personalData: {
    title: (sender) => `I tuoi dati presso ${sender}`,
    attached: (sender) =>
      `Il file allegato contiene tutto ciò che ${sender} conserva su di te. È un file JSON, che puoi aprire con qualsiasi editor di testo.`,
    tooLarge: (sender) =>
      `I dati che ${sender} conserva su di te sono troppo grandi per un’email. Rispondi a questo messaggio per riceverli in un altro modo.`,
    small:
      'Ricevi questa email perché è stata richiesta nella pagina delle tue preferenze. È stata inviata solo al tuo indirizzo.',
  },
  invite: {
    title: (workspace) => `Unisciti a ${workspace}`,
    text: (workspace) => `Hai ricevuto un invito a unirti allo spazio di lavoro «${workspace}».`,
    button: 'Accetta l’invito',
    small:
      'Questo link scade tra sette giorni e funziona una sola volta. Se non aspettavi questo invito, puoi ignorare questa email.',
  },
  passwordReset: {
    title: 'Scegli una nuova password',
    text: (address) => `Abbiamo ricevuto una richiesta di reimpostare la password di ${address}.`,
    warning:
      'Questo indirizzo non è mai stato confermato, quindi qualcun altro potrebbe aver creato l’account. Per la tua sicurezza, scegliendo una nuova password vengono revocati anche le chiavi API e gli inviti creati dall’account, e vengono disattivati i webhook degli spazi di lavoro di cui è proprietario. In seguito, controlla i membri di questi spazi di lavoro.',
    button: 'Scegli una nuova password',
    small:
      'Questo link scade tra un’ora e funziona una sola volta. Se non hai fatto tu questa richiesta, puoi ignorare questa email: la tua password resta la stessa.',
  },
  verification: {
    title: 'Conferma il tuo indirizzo email',
    text: (host, address) => `Su ${host} è stato creato un account per ${address}.`,
    request: 'Conferma che questo indirizzo email è tuo.',
    button: 'Conferma l’indirizzo email',
    small:
      'Questo link scade tra sette giorni e per usarlo serve la tua password. Se non hai creato tu questo account, puoi ignorare questa email, oppure reimpostare la password per prenderne il controllo.',
  },
  footer: {
    reason: (list) => `Ricevi questa email perché hai effettuato l’iscrizione a ${list}.`,
    unsubscribe: 'Annulla l’iscrizione',
    preferences: 'Preferenze',
  },
}
