import { type Ctx, inTransaction } from '../request/context.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { Contact, ContactInput } from './contacts.schema.ts'
import { type MergePolicy, mergePolicies } from './merge-contact.ts'
import { writeContacts } from './write-contacts.ts'

/**
 * Creates a contact, or updates the contact with the same email: sets the given properties and keeps the rest.
 * Concurrent calls create one contact, and each call updates the result of the previous one.
 */
export async function upsertContact(ctx: Ctx, input: ContactInput): Promise<{ contact: Contact; isNew: boolean }> {
  const { contact, isNew } = await inTransaction(ctx, (ctx) => writeContact(ctx, input, mergePolicies.update))
  return { contact: toContact(contact), isNew }
}

/**
 * Finds or creates the contact with an email, and locks it until the transaction ends. For visitor input: it fills
 * empty properties of an existing contact and never overwrites any.
 */
export async function findOrCreateContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  const { contact } = await writeContact(ctx, input, mergePolicies.fill)
  return toContact(contact)
}

async function writeContact(
  ctx: Ctx,
  input: ContactInput,
  onExisting: MergePolicy,
): Promise<{ contact: ContactRow; isNew: boolean }> {
  const [outcome] = await writeContacts(ctx, [input], { onExisting, emitsEvents: true })
  if (!outcome) throw new Error('writeContacts returned no outcome')
  if (outcome.status === 'REJECTED') throw outcome.error
  return { contact: outcome.contact, isNew: outcome.status === 'CREATED' }
}
