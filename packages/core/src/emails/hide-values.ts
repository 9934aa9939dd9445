import { unseal } from '../kernel/crypto.ts'
import { escapeRegExp } from '../kernel/values/encode-text.ts'
import type { Ctx } from '../request/context.ts'
import type { ClaimedEmail } from './claim-emails.ts'

/** A shorter value is also in texts that do not quote it. */
const minLength = 8

/**
 * Hides the values of an email in the response of a mail server, which may quote the link that it refuses: the response is
 * logged, recorded, and sent to webhooks. The whole word is hidden, since a link may contain a value. Of a link, servers
 * also quote a part, or write its host or scheme in another way. A link to another host stays: it tells the reason.
 */
export function hideValues(ctx: Ctx, { id, sealedData }: ClaimedEmail, text: string): string {
  const data: unknown = JSON.parse(unseal(ctx.settings.keys, sealedData ?? '', id))
  const marked = listTexts(data)
    .flatMap(toPatterns)
    // A longer value may contain a shorter one.
    .toSorted((one, other) => other.length - one.length)
    .reduce((marked, pattern) => marked.replace(new RegExp(pattern, 'gi'), mark), text)
  return marked.replace(/\S+/g, (word) => (word.includes(mark) ? '[value]' : word))
}

/** `cleanDetail` leaves none in the text. */
const mark = '\0'

const listTexts = (value: unknown): string[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [String(value)]

function toPatterns(value: string): string[] {
  const [, host, rest] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(value) ?? []
  const quoted = [value, rest ?? ''].filter(({ length }) => length >= minLength).map(escapeRegExp)
  return host === undefined ? quoted : [...quoted, `${escapeRegExp(host)}[/?#]`]
}
