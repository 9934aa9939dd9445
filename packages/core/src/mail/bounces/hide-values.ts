/** A link or a part of one, an address, an encoded text, letters mixed with digits, or a long text without a space. */
const mayBeValue = /[/\\@=]|\?\S|%[\da-f]{2}|(?=[a-z\d]*\d)[a-z\d]{6}|[\w+-]{25}/i

/**
 * Hides what may be a value of an email to one person in the words of a mail server about it, which may quote the link
 * that it refuses: the words are logged, recorded, and sent to webhooks. The form of a word decides, because a bounce
 * comes when the values are deleted, and because servers write a link in another way, or cut it. Codes, plain words and
 * the names of hosts stay: they tell the reason.
 */
export const hideValues = (text: string): string =>
  text.replace(/\S+/g, (word) => (mayBeValue.test(word) ? '[value]' : word))
