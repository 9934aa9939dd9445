import { type Ctx, inTransaction } from '../request/context.ts'
import { toContact } from './contact-record.ts'
import type { Contact, ContactInput, NewContactInput } from './contacts.schema.ts'
import { lockKnownContacts } from './find-contact.ts'
import { createContactIndex } from './identity/contact-index.ts'
import type { ContactKeys, MatchedBy } from './identity/contact-keys.ts'
import { type MergePolicy, mergePolicies } from './merge-contact.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import { writeContacts } from './write-contacts.ts'

interface Upserted {
  contact: Contact
  isNew: boolean
  /** The key that found the contact. */
  matchedBy: MatchedBy
}

/**
 * Creates a contact, or updates the contact with the same external id or email: sets the given properties and keeps the
 * rest. Concurrent calls create one contact, and each call updates the result of the previous one. Throws
 * `identity_conflict` if the keys belong to different contacts.
 */
export function upsertContact(ctx: Ctx, input: ContactInput): Promise<Upserted> {
  return inTransaction(ctx, (ctx) => writeContact(ctx, input, mergePolicies.update))
}

/**
 * Finds or creates the contact with an email, and locks it until the transaction ends. For visitor input: it fills
 * empty properties of an existing contact and never overwrites any.
 */
export async function findOrCreateContact(ctx: Ctx, input: NewContactInput): Promise<Contact> {
  const { contact } = await writeContact(ctx, input, mergePolicies.fill)
  return contact
}

/**
 * Locks the contact that an upsert with these keys would update, after the quota, as the upsert does. Throws
 * `identity_conflict`.
 */
export async function lockMatchingContact(ctx: Ctx, keys: ContactKeys): Promise<Contact | undefined> {
  await contactQuota.read(ctx)
  const { record: contact } = createContactIndex(await lockKnownContacts(ctx, [keys])).match(keys)
  return contact && toContact(contact)
}

async function writeContact(ctx: Ctx, input: ContactInput, onExisting: MergePolicy): Promise<Upserted> {
  const [outcome] = await writeContacts(ctx, [input], { onExisting, emitsEvents: true })
  if (!outcome) throw new Error('writeContacts returned no outcome')
  if (outcome.status === 'REJECTED') throw outcome.error
  const { status, contact, matchedBy } = outcome
  return { contact: toContact(contact), isNew: status === 'CREATED', matchedBy }
}
