import { fromUUID, toUUID, typeidUnboxed } from 'typeid-js'
import { z } from 'zod'

/** The kind of record for each prefix, as error messages name it. */
const resourceNames = {
  wsp: 'Workspace',
  usr: 'User',
  key: 'API key',
  inv: 'Invite',
  ses: 'Session',
  aud: 'Audit entry',
  rst: 'Password reset',
  cpy: 'Company',
  con: 'Contact',
  cfd: 'Custom field',
  seg: 'Segment',
  imp: 'Import',
  lst: 'List',
  sup: 'Suppression',
  frm: 'Form',
  sub: 'Submission',
  pip: 'Pipeline',
  stg: 'Stage',
  dea: 'Deal',
  mov: 'Deal move',
  tsk: 'Task',
  nte: 'Note',
  cmp: 'Campaign',
  bat: 'Campaign batch',
  tpl: 'Template',
  mai: 'Email',
  dom: 'Domain',
  mhk: 'Mail hook',
  whk: 'Webhook',
  evt: 'Event',
  dlv: 'Delivery',
} as const
export type IdPrefix = keyof typeof resourceNames

declare const idBrand: unique symbol

/**
 * The id of one kind of record. At run time it is a string; the brand exists only for the compiler, which rejects the
 * id of another kind of record, a UUID or any other string in its place.
 */
export type IdOf<Prefix extends IdPrefix> = string & { readonly [idBrand]: Prefix }

export type WorkspaceId = IdOf<'wsp'>
export type UserId = IdOf<'usr'>
export type ApiKeyId = IdOf<'key'>
export type InviteId = IdOf<'inv'>
export type SessionId = IdOf<'ses'>
export type PasswordResetId = IdOf<'rst'>
export type CompanyId = IdOf<'cpy'>
export type ContactId = IdOf<'con'>
export type CustomFieldId = IdOf<'cfd'>
export type SegmentId = IdOf<'seg'>
export type ImportId = IdOf<'imp'>
export type ListId = IdOf<'lst'>
export type SuppressionId = IdOf<'sup'>
export type FormId = IdOf<'frm'>
export type SubmissionId = IdOf<'sub'>
export type PipelineId = IdOf<'pip'>
export type StageId = IdOf<'stg'>
export type DealId = IdOf<'dea'>
export type TaskId = IdOf<'tsk'>
export type NoteId = IdOf<'nte'>
export type CampaignId = IdOf<'cmp'>
export type TemplateId = IdOf<'tpl'>
export type MailId = IdOf<'mai'>
export type EmailId = MailId
export type DomainId = IdOf<'dom'>
export type MailHookId = IdOf<'mhk'>
export type WebhookId = IdOf<'whk'>
export type EventId = IdOf<'evt'>
export type DeliveryId = IdOf<'dlv'>

/** Creates an id: a TypeID, which is a prefix and a UUIDv7. Ids sort by creation time. */
export function newId<Prefix extends IdPrefix>(prefix: Prefix): IdOf<Prefix> {
  return typeidUnboxed(prefix) as string as IdOf<Prefix>
}

/** Returns the UUID that the database stores for an id. Throws if the id is invalid: routes validate ids with `Id`. */
export function uuidOf(id: IdOf<IdPrefix>): string {
  return toUUID(id as string as Parameters<typeof toUUID>[0])
}

/** Returns the id for a UUID of the database. */
export function idOf<Prefix extends IdPrefix>(prefix: Prefix, uuid: string): IdOf<Prefix> {
  return fromUUID(uuid, prefix) as string as IdOf<Prefix>
}

/** The lowest UUID (RFC 9562), which no record has. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

/** The timestamp of a UUIDv7, in milliseconds since 1970. */
export const timeOfUuid = (uuid: string) => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
/** The smallest UUIDv7 with this timestamp. */
export function uuidAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}

const digit = '[0-9a-hjkmnp-tv-z]'
/** Base32 of 128 bits, aligned to the end: the 11th character holds the UUID version, the 14th its variant. */
const uuidDigits = `[0-7]${digit}{9}[2-9a-h]${digit}{2}[89abrstv]${digit}{12}|0{26}|7z{25}`

/** The schema of an id: a prefix and a valid UUID. A malformed id fails with the same error as a missing record. */
export function Id<Prefix extends IdPrefix>(
  prefix: Prefix,
  error = `${resourceNames[prefix]} not found`,
): z.ZodType<IdOf<Prefix>, string> {
  const pattern = new RegExp(`^${prefix}_(${uuidDigits})$`)
  const schema = z
    .string()
    // Not `regex`, which the API documentation would show: an id is opaque to clients.
    .refine((text) => pattern.test(text), { error, abort: true })
    .meta({ description: describeId(prefix), examples: [`${prefix}_01kag7m3v9e8fs2t4w6x8y0z1b`] })
  return schema as z.ZodType<string, string> as z.ZodType<IdOf<Prefix>, string>
}

/** The schema of an id in a response or an event. It is not validated again, as it comes from the database. */
export function RecordId<Prefix extends IdPrefix>(prefix: Prefix): z.ZodType<IdOf<Prefix>, IdOf<Prefix>> {
  return z.string().describe(describeId(prefix)) as z.ZodType<string, string> as z.ZodType<IdOf<Prefix>, IdOf<Prefix>>
}

/** "The id of the contact." */
const describeId = (prefix: IdPrefix) => `The id of the ${kindOfRecord(prefix)}.`

/** The kind of record in the middle of a sentence: "contact", "API key". */
const kindOfRecord = (prefix: IdPrefix) =>
  resourceNames[prefix].replace(/^[A-Z](?=[a-z])/, (initial) => initial.toLowerCase())

/** With its article: "a contact", "an API key". Undefined for a text that begins with no prefix. */
export function kindOfId(text: string): string | undefined {
  const [prefix = ''] = text.split('_')
  if (!Object.hasOwn(resourceNames, prefix)) return undefined
  const kind = kindOfRecord(prefix as IdPrefix)
  return `${/^[aeio]/i.test(kind) ? 'an' : 'a'} ${kind}`
}
