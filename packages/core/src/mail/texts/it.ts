import type { MailTexts } from './en.ts'

export const it: MailTexts = {
  confirmation: {
    title: (list) => `Confermi la Sua iscrizione a «${list}»`,
    text: (sender, list, address) => `La preghiamo di confermare che ${sender} può inviare «${list}» a ${address}.`,
    tracking: (sender, what) =>
      `Nella pagina può anche consentire a ${sender} di registrare ${what}. La Sua iscrizione non dipende da questo.`,
    button: 'Conferma iscrizione',
    small:
      'Il link scade tra sette giorni. Se non ha richiesto l’iscrizione, può ignorare questa email: senza la Sua conferma non verrà effettuata.',
  },
  tracking: {
    opens: 'quando Lei apre le email di questo mittente',
    clicks: 'quando Lei fa clic sui link nelle email di questo mittente',
    opensAndClicks: 'quando Lei apre le email di questo mittente e fa clic sui link che contengono',
    title: (sender) => `Confermi che cosa può registrare ${sender}`,
    text: (sender, what) => `La preghiamo di confermare che ${sender} può registrare ${what}.`,
    button: 'Conferma',
    small:
      'Il link scade tra sette giorni. Se non ha fatto Lei questa richiesta, può ignorare questa email: non cambierà nulla.',
  },
  personalData: {
    title: (sender) => `I Suoi dati presso ${sender}`,
    attached: (sender) =>
      `Il file allegato contiene tutto ciò che ${sender} conserva su di Lei nel proprio archivio dei contatti. È un file JSON, che può aprire con qualsiasi editor di testo.`,
    tooLarge: (sender) =>
      `I dati che ${sender} conserva su di Lei nel proprio archivio dei contatti sono troppo voluminosi per un’email. La preghiamo di contattare ${sender} per riceverli in un altro modo.`,
    small:
      'Riceve questa email perché è stata richiesta nella pagina delle Sue preferenze. È stata inviata solo al Suo indirizzo.',
  },
  invite: {
    title: (workspace) => `Invito a ${workspace}`,
    text: (workspace) => `Ha ricevuto un invito a unirsi allo spazio di lavoro «${workspace}».`,
    button: 'Accetta invito',
    small:
      'Il link scade tra sette giorni e funziona una sola volta. Se non aspettava questo invito, può ignorare questa email.',
  },
  passwordReset: {
    title: 'Scelga una nuova password',
    text: (address) => `Abbiamo ricevuto una richiesta di reimpostare la password di ${address}.`,
    warning:
      'Questo indirizzo non è mai stato confermato, quindi qualcun altro potrebbe aver creato l’account. Per la Sua sicurezza, con una nuova password vengono revocati anche le chiavi API e gli inviti creati dall’account. Negli spazi di lavoro di cui è proprietario vengono disattivati i webhook ed eliminati gli hook email. In seguito, controlli i membri di questi spazi di lavoro.',
    button: 'Imposta nuova password',
    small:
      'Il link scade tra un’ora e funziona una sola volta. Se non ha fatto Lei questa richiesta, può ignorare questa email: la Sua password resta la stessa.',
  },
  verification: {
    title: 'Confermi il Suo indirizzo email',
    text: (host, address) => `Su ${host} è stato creato un account per ${address}.`,
    request: 'La preghiamo di confermare che questo indirizzo email è Suo.',
    button: 'Conferma indirizzo email',
    small:
      'Il link scade tra sette giorni e per usarlo serve la Sua password. Se non ha creato Lei questo account, può ignorare questa email oppure reimpostare la password per prendere il controllo dell’account.',
  },
  footer: {
    reason: (list) => `Riceve questa email perché il Suo indirizzo è iscritto a «${list}».`,
    unsubscribe: 'Annulla iscrizione',
    preferences: 'Preferenze email',
  },
  emailFooter: {
    REQUEST: (sender) => `Riceve questa email da ${sender} perché l’ha richiesta.`,
    CONTRACT: (sender) => `Riceve questa email da ${sender} in relazione al Suo account o al Suo ordine.`,
    SECURITY: (sender) => `Riceve questa email da ${sender} perché riguarda la sicurezza del Suo account.`,
    LEGAL: (sender) => `Riceve questa email da ${sender} perché la legge lo richiede.`,
  },
}
