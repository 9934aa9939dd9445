/** What mail servers say of an address that accepts no email. */
const refusal =
  /bounce|(?:^|[\s;#])5\.\d{1,3}\.\d{1,3}\b|(?:^|; *)5\d\d(?:[ -]|$)|(?:mailbox|user|account|address|recipient).*(?:unknown|not exist|not found)|unknown (?:user|recipient)|unbekannt|inconnu|desconocid|sconosciut|desconhecid/i

/** A text may be as long as its row; a report says it at its start. */
const maxLength = 2_000

/** Whether a text is such a report. */
export const isRefusal = (text: string) => refusal.test(text.slice(0, maxLength))
