/** Schemas that all slices share. */
import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { normalizeMoment } from './values/iso-moment.ts'
import { showInvisible, toNormalForm, trimInvisible } from './values/text.ts'
import { Timestamp, timestampAt } from './values/timestamps.ts'
import { describeIssue } from './zod-messages.ts'

z.config({ localeError: describeIssue })

const controlsExceptLineBreaks = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/
/** For half of a surrogate pair, which the database would replace silently. */
const notUnicodeMessage = 'must be valid Unicode'
const controls = /[\u0000-\u001f\u007f]/

/** Single-line text: without invisible characters at its ends, normalized to NFC, at most `max` characters, no control characters. */
export function SingleLine(max: number, min = 0) {
  return text(max, min).refine((value) => !controls.test(value), 'must not contain control characters or line breaks')
}

/** Like `SingleLine`, but with line breaks and tabs. */
export function MultiLine(max: number, min = 0) {
  return text(max, min).refine((value) => !controlsExceptLineBreaks.test(value), 'must not contain control characters')
}

/** Like `MultiLine`, but neither trimmed nor normalized: for templates and other text that must not be changed. */
export function Verbatim(max: number) {
  return z
    .string()
    .max(max, { abort: true })
    .refine((value) => value.isWellFormed(), notUnicodeMessage)
    .refine((value) => !controlsExceptLineBreaks.test(value), 'must not contain control characters')
}

/** A token or cursor. A text that is too long gets the same error as any other wrong token: it becomes empty. */
export function Token(max: number) {
  return z
    .string()
    .overwrite((token) => (token.length > max ? '' : token))
    .meta({ maxLength: max })
}

/** The token of a link. Programs that find links in text add what follows, such as a full stop, or break long ones. */
export const LinkToken = (max: number) => Token(max).overwrite(findToken)

/**
 * Finds the token in what a mail program made of a link: with line breaks and invisible characters, with typographic hyphens,
 * or quoted-printable, of which the sign of a line break may be all that is left. What encodes `-` or `_` leaves none of
 * them, and a signature of 24 characters follows a point: in any other text, `=2D` is such a sign before `2D`.
 */
export function findToken(text: string): string {
  const joined = text.replace(/=?[\s\u00ad\u200b-\u200f\u2060\ufeff]+/g, '')
  const decoded = /[-_]/.test(joined) ? joined : joined.replace(/=2D/gi, '-').replace(/=5F/gi, '_')
  const whole = decoded
    .replace(/=2E(?=(?:=?[\w-]){24}(?![\w-]|\.\w))/gi, '.')
    .replaceAll('=', '')
    .replace(/[\u2010-\u2013\u2212]/g, '-')
    .replaceAll('\u2014', '--')
  return /[\w-]+(?:\.+[\w-]+)*/.exec(whole)?.[0] ?? ''
}

/** Texts that look the same are the same: every text is stored, and looked for, in this form. */
export const normalizeText = (text: string) => toNormalForm(trimInvisible(text))

function text(max: number, min: number) {
  return z
    .string()
    .overwrite(normalizeText)
    .refine((value) => value.isWellFormed(), notUnicodeMessage)
    .min(min, min === 1 ? 'must not be empty' : undefined)
    .max(max, { abort: true })
}

/** An object whose fields are all optional, and that may itself be absent. */
export function OptionalObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((value) => value ?? {}, z.strictObject(shape))
}

const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const domainName = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i

/** Returns the address as a dot-atom (RFC 5322) with an ASCII domain (RFC 5891); undefined if it is invalid. */
export function normalizeEmail(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const domain = toAsciiDomain(address.slice(at + 1))
  const email = `${local}@${domain}`
  const isAddress = at > 0 && at <= 64 && email.length <= 254 && localPart.test(local) && domainName.test(domain)
  return isAddress ? email : undefined
}

/** Converts the international domains in a part of an address, such as `@bücher`, label by label. The rest is kept. */
export function toAsciiDomains(text: string): string {
  return text.replace(/[^@.\s]+/g, (label) => toAsciiDomain(label) || label)
}

/**
 * Converts an international domain. `domainToASCII` would truncate "ü.example/x" and drop line breaks: such text is
 * returned unchanged, and the caller rejects it.
 */
function toAsciiDomain(domain: string) {
  return /[^\u0000-\u007f]/.test(domain) && /^[a-z0-9.\-\u0080-\u{10ffff}]+$/iu.test(domain)
    ? domainToASCII(domain)
    : domain
}

/** Returns a domain name in lower case and ASCII (RFC 5891); undefined if it is invalid. */
export function normalizeDomain(name: string): string | undefined {
  const ascii = toAsciiDomain(trimInvisible(name)).toLowerCase().replace(/\.$/, '')
  return domainName.test(ascii) && domainToASCII(ascii) === ascii ? ascii : undefined
}

/** An email address. Invisible characters around it are dropped. An international domain is converted to ASCII; the rest is kept as entered. */
export const Email = z
  .string()
  .overwrite(trimInvisible)
  .max(254, { error: 'must have at most 254 characters', abort: true })
  .overwrite((address) => address.replace(/^[\u200c\u200d]+|[\u200c\u200d]+$/g, ''))
  .transform((address, check) => {
    const hidden = /[^\P{C}]|[^\P{Z} ]/u.exec(address)?.[0]
    const email = hidden === undefined ? normalizeEmail(address) : undefined
    if (email) return email
    const hint = hidden === undefined ? '' : `, without ${showInvisible(hidden)}`
    check.addIssue({ code: 'custom', message: `must be an email address such as ada@example.com${hint}` })
    return z.NEVER
  })
  .meta({ examples: ['ada@example.com'] })

export const CreatedAt = Timestamp.describe('When the record was created.')
export const UpdatedAt = Timestamp.describe('When the record was last changed.')

export const dateNote = 'A timestamp, or a date, which means its first instant in UTC.'

const maxTimestamp = 40
const timestampMessage = 'must be a timestamp such as 2026-11-21T06:35:49Z or a date such as 2026-11-21'
/** A plus sign that is not encoded in a URL is a space. */
const hintAtPlus = (input: unknown) =>
  /:\d\d[\d:.,]* \d\d(?::?\d\d)?$/.test(String(input).slice(-maxTimestamp)) ? ': in a URL, send a plus sign as %2B' : ''

/**
 * A timestamp in a request: ISO 8601 with an offset, as `normalizeMoment` reads it, in a year that a response can show with four
 * digits. A date means its first instant in UTC.
 */
export const TimestampInput = z
  .preprocess(
    (input) => (typeof input === 'string' ? normalizeMoment(input) : input),
    z.union([z.iso.datetime({ offset: true }).max(maxTimestamp), z.iso.date()], {
      error: ({ input }) => (input === undefined ? undefined : timestampMessage + hintAtPlus(input)),
    }),
  )
  .transform((text) => new Date(text))
  .refine((date) => date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999, 'must be in the years 1 to 9999')
  .transform(timestampAt)
  .describe(dateNote)

/** A calendar date as every response shows it. */
export const CalendarDate = z.string().meta({ format: 'date', examples: ['2026-12-31'] })

const calendarDateMessage = 'must be a date such as 2026-11-21'

/** A calendar date in a request, which PostgreSQL has too: there is no year 0. */
export const CalendarDateInput = z
  .string(calendarDateMessage)
  .overwrite(trimInvisible)
  .pipe(z.iso.date(calendarDateMessage))
  .refine((text) => !text.startsWith('0000'), 'must be in the years 1 to 9999')

/**
 * For a field or parameter that may be left out: an empty text means the same, and is dropped from an array. Not for ids, where it
 * is an error.
 */
export function EmptyAsNone<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((input) => (isBlank(input) ? undefined : dropEmpty(input)), schema.optional()).optional()
}

/** Like `EmptyAsNone`, for a field that `null` clears. */
export function EmptyAsNull<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((input) => (isBlank(input) ? null : input), schema.nullable())
}

/** An optional text of which an empty one is none. Unlike with `EmptyAsNull`, OpenAPI shows the type of the text. */
export const emptyToNull = <T extends z.ZodType<string>>(schema: T) =>
  schema.nullable().transform((value) => value || null)

const isBlank = (input: unknown) => typeof input === 'string' && trimInvisible(input) === ''
const dropEmpty = (input: unknown): unknown =>
  Array.isArray(input) ? (input as unknown[]).filter((one) => !isBlank(one)) : input

/** What a listing searches for. */
export const SearchText = EmptyAsNone(SingleLine(200, 1))

/** A boolean in a query string: `true` or `false`. */
export const QueryBoolean = z
  .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive', error: 'must be true or false' })
  .meta({ type: 'boolean' })
