/** A link or a part of one, an address, an encoded text, letters mixed with digits, or a long text without a space. */
const mayBeValue = /[/\\@=]|\?\S|%[\da-f]{2}|(?=[a-z\d]*\d)[a-z\d]{6}|[\w+-]{25}/i

/** The name of a host, maybe in brackets or with its address: its labels are too short for a token. */
const host =
  /^[([<"']*(?:[a-z\d-]{1,20}\.){2,6}(?:com|net|org|info|edu|gov|[a-z]{2})(?:\[[\d.]{7,15}\])?[)\]>"'.,:;]*$/i

/**
 * Hides what may be a value of an email to one person in the words of a mail server about it, which may quote the link
 * that it refuses: the words are logged, recorded, and sent to webhooks. The form of a word decides, because a bounce
 * comes when the values are deleted, and because servers write a link in another way, or cut it. Codes, plain words and
 * most names of hosts stay: they tell the reason.
 */
export const hideValues = (text: string): string =>
  text.replace(/\S+/g, (word) => (mayBeValue.test(word) && !host.test(word) ? '[value]' : word))
