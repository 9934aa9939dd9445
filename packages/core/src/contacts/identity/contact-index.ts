/** Which contact an input is about, by the rules of `record-index.ts`. */
import type { ContactId } from '../../kernel/ids.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { createRecordIndex, groupByRecord, type Identity, type RecordIndex } from '../../request/record-index.ts'
import type { ContactRow } from '../contact-record.ts'
import type { ContactKeys } from './contact-keys.ts'

const identity: Identity<ContactKeys, 'email'> = {
  one: 'contact',
  many: 'contacts',
  second: 'email',
  secondOf: ({ email }) => (email === undefined ? undefined : emailKey(email)),
}

/** The contacts that have one of the keys of some inputs, and the aliases among these keys. */
export interface KnownContacts {
  contacts: readonly ContactRow[]
  aliases: ReadonlyMap<string, ContactId>
}

export type ContactIndex = RecordIndex<ContactRow, ContactKeys, 'email'>

export const createContactIndex = ({ contacts, aliases }: KnownContacts): ContactIndex =>
  createRecordIndex(identity, { records: contacts, aliases })

/** Groups inputs that may concern the same contact. */
export const groupByContact = <Entry extends { input: ContactKeys }>(
  entries: readonly Entry[],
  { contacts, aliases }: KnownContacts,
): Entry[][] => groupByRecord(identity, entries, { records: contacts, aliases })
