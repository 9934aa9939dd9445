import { customType } from 'drizzle-orm/pg-core'
import { fromUUID, toUUID, typeidUnboxed } from 'typeid-js'
import { z } from 'zod'

/** What each identifier is of, by its prefix. */
const resourceNames = {
  wsp: 'Workspace',
  usr: 'User',
  key: 'API key',
  inv: 'Invite',
  ses: 'Session',
  aud: 'Audit entry',
  rst: 'Password reset',
  con: 'Contact',
  cfd: 'Custom field',
  imp: 'Import',
  lst: 'List',
  frm: 'Form',
  sub: 'Submission',
  pip: 'Pipeline',
  stg: 'Stage',
  dea: 'Deal',
  mov: 'Deal move',
  tsk: 'Task',
  cmp: 'Campaign',
  bat: 'Campaign batch',
  mai: 'Mail',
  whk: 'Webhook',
  evt: 'Event',
  dlv: 'Delivery',
} as const
export type IdPrefix = keyof typeof resourceNames

/** A new identifier: a TypeID, that is a prefix and a UUIDv7, so that identifiers sort by the time they were made. */
export function newId(prefix: IdPrefix): string {
  return typeidUnboxed(prefix)
}

/** The UUID that the database keeps for an identifier. Throws when it is none: routes validate with `Id` before. */
export function uuidOf(id: string): string {
  return toUUID(id as Parameters<typeof toUUID>[0])
}

/** The identifier for a UUID of the database. */
export function idOf(prefix: IdPrefix, uuid: string): string {
  return fromUUID(uuid, prefix)
}

/** The moment that a UUIDv7 begins with, in milliseconds since 1970; and the least one of a moment. */
export const timeOfUuid = (uuid: string) => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
export function uuidAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}

const digit = '[0-9a-hjkmnp-tv-z]'
/** 128 bits, five in each character from the end on: the version of a UUID comes to stand in the 11th, its variant in the 14th. */
const uuidDigits = `[0-7]${digit}{9}[2-9a-h]${digit}{2}[89abrstv]${digit}{12}|0{26}|7z{25}`

/** Schema of an identifier: of its prefix, in the right form, and of what is a UUID. Its message is that of a missing record: a wrong form tells no more than a wrong id. */
export function Id(prefix: IdPrefix) {
  const missing = { error: `${resourceNames[prefix]} not found`, abort: true }
  return z
    .string()
    .max(40, missing)
    .regex(new RegExp(`^${prefix}_(${uuidDigits})$`), missing)
    .meta({ examples: [`${prefix}_01kag7m3v9e8fs2t4w6x8y0z1b`] })
}

/** Column of an identifier: a `uuid` in the database, `con_01j…` in the program. */
export function id(prefix: IdPrefix) {
  return customType<{ data: string; driverData: string }>({
    dataType: () => 'uuid',
    toDriver: (value) => uuidOf(value),
    fromDriver: (value) => idOf(prefix, value),
  })()
}
