import { createHash } from 'node:crypto'

/**
 * The id that a mail server gives an email in its response to the message. Amazon SES and Postmark replace the
 * Message-ID, so this id is what their reports have in common with the email.
 *
 * | server                    | response                                            |
 * |---------------------------|-----------------------------------------------------|
 * | Amazon SES                | `250 Ok 0100018f…-000000`                           |
 * | Twilio SendGrid, Postfix  | `250 2.0.0 Ok: queued as 4XyZ…`                     |
 * | Exim                      | `250 OK id=1sNkXy-0000…`                            |
 * | Haraka                    | `250 Message Queued (8A2F….1)`                      |
 * | Postmark, Resend          | `250 2.0.0 Ok: queued as <uuid>`, or only the uuid  |
 * | Mailgun                   | `250 Great success`: none, the Message-ID is kept   |
 */
const patterns = [
  /\bqueued(?: on \S+)? as "?<?([\w.+=/@-]+)/i,
  /\bid="?<?([\w.+=/@-]+)/i,
  /\bqueued \(([\w.+=/@-]+)\)/i,
  // A word with a digit and at least 16 characters, which no server uses in a sentence.
  /^250[ -](?:2\.\d+\.\d+ )?(?:ok:? )?<?((?=[\w.@-]*\d)[\w.@-]{16,})>?$/i,
]

const maxLength = 200

/** Returns the id in the last line of a response. Null if there is none. */
export function findProviderMessageId(response: string): string | null {
  const [line = ''] = response.trim().split(/\r?\n/).slice(-1)
  for (const pattern of patterns) {
    const id = pattern.exec(line)?.[1]?.replace(/[.]+$/, '')
    if (id) return id.length <= maxLength ? id : null
  }
  return null
}

/**
 * The stored form of an id: 16 bytes as a UUID. Campaigns have millions of recipients, and ids of up to 60 characters
 * would make the table and its index several times as large.
 */
export function hashProviderMessageId(id: string): string {
  const hex = createHash('sha256').update(id).digest('hex')
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
