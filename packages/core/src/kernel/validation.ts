/** The pieces that the shapes of all slices are made of. */
import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { describeIssue } from './zod-messages.ts'

z.config({ localeError: describeIssue })

const controlsButLineBreaks = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/
/** Half of a surrogate pair, that the database would replace without a word. */
const notUnicodeMessage = 'must be valid Unicode'
const controls = /[\u0000-\u001f\u007f]/

/** Text on one line: trimmed, in Unicode's composed form (NFC), at most `max` characters, no control characters. */
export function SingleLine(max: number, min = 0) {
  return text(max, min).refine((value) => !controls.test(value), 'must not contain control characters or line breaks')
}

/** Text that may have line breaks and tabs, otherwise as `SingleLine`. */
export function MultiLine(max: number, min = 0) {
  return text(max, min).refine((value) => !controlsButLineBreaks.test(value), 'must not contain control characters')
}

/** Text that is kept to the letter, such as a template: neither trimmed nor normalised, otherwise as `MultiLine`. */
export function Verbatim(max: number) {
  return z
    .string('must be text')
    .max(max, tooLongMessage(max))
    .refine((value) => value.isWellFormed(), notUnicodeMessage)
    .refine((value) => !controlsButLineBreaks.test(value), 'must not contain control characters')
}

function text(max: number, min: number) {
  return z
    .string('must be text')
    .trim()
    .normalize('NFC')
    .refine((value) => value.isWellFormed(), notUnicodeMessage)
    .min(min, min === 1 ? 'must not be empty' : `must have at least ${min} characters`)
    .max(max, tooLongMessage(max))
}

function tooLongMessage(max: number) {
  return `must have at most ${max.toLocaleString('en')} characters`
}

const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const domainName = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i

/** The address as mail servers take it: a dot-atom of RFC 5322, its domain in ASCII (RFC 5891); undefined when it is none. */
export function normalizeEmail(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const domain = toAsciiDomain(address.slice(at + 1))
  const email = `${local}@${domain}`
  const isAddress = at > 0 && at <= 64 && email.length <= 254 && localPart.test(local) && domainName.test(domain)
  return isAddress ? email : undefined
}

/** Of an international domain only: the conversion would cut "ü.example/x" and drop line breaks, so those are left to be refused. */
function toAsciiDomain(domain: string) {
  return /[^\u0000-\u007f]/.test(domain) && /^[a-z0-9.\-\u0080-\u{10ffff}]+$/iu.test(domain)
    ? domainToASCII(domain)
    : domain
}

/** A mail address; kept as written but for an international domain, which is kept in ASCII. */
export const Email = z
  .string('must be a mail address')
  .trim()
  .max(254, 'must have at most 254 characters')
  .transform((address, check) => {
    const email = normalizeEmail(address)
    if (email) return email
    check.addIssue({ code: 'custom', message: 'must be a mail address such as ada@example.com' })
    return z.NEVER
  })
  .meta({ examples: ['ada@example.com'] })

/** A moment as every answer shows it: ISO 8601, UTC, three decimals. */
export const Timestamp = z.string().meta({ format: 'date-time', examples: ['2026-11-21T06:35:49.123Z'] })

export const toTimestamp = (date: Date) => date.toISOString()
/** Of a moment as PostgreSQL writes it. In UTC that is a matter of some characters; in another zone it is worked out. */
export function timestampOf(text: string): string {
  const isUtc = text.endsWith('+00') && text[4] === '-' && text.length <= 26
  if (!isUtc) return toTimestamp(new Date(text))
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, '0')}Z`
}
export const toTimestampOrNull = (date: Date | null) => date?.toISOString() ?? null

/** A moment as it comes in: ISO 8601 with its offset, of a year that the answer can show in four digits. */
export const TimestampInput = z.iso
  .datetime({ offset: true, error: 'must be a moment such as 2026-11-21T06:35:49Z' })
  .max(40)
  .transform((text) => new Date(text))
  .refine((date) => date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999, 'must lie in the years 1 to 9999')
