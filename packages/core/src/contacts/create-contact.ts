import { sql } from 'drizzle-orm'
import { companyOf, readCompanyName } from '../companies/linked-companies.ts'
import { jsonRows } from '../db/json-rows.ts'
import { contacts } from '../db/schema/index.ts'
import { bothReferences, insertWithEvents } from '../events/insert-with-events.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { alreadyExists, requireNoAlias } from './find-contact.ts'
import { contactCreated } from './contact-events.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { Contact, NewContactInput } from './contacts.schema.ts'
import { newContact } from './merge-contact.ts'
import { checkCustomValues } from '../custom-fields/check-custom-values.ts'
import { customFieldsOf } from '../custom-fields/custom-field-references.ts'

/**
 * Creates a contact and emits `contact.created`. Throws `already_exists` with the id of the existing contact if the
 * email or the external id is taken, `quota_exceeded` if the workspace has the maximum number of contacts, and
 * `validation_error` if the company does not exist.
 */
export async function createContact(ctx: Ctx, input: NewContactInput): Promise<Contact> {
  const customFieldValues = await checkCustomValues(ctx, 'CONTACT', input.customFieldValues ?? {})
  const readCompany = () => (input.companyId ? readCompanyName(ctx, input.companyId) : undefined)
  const contact = newContact(ctx.workspaceId, { ...input, customFieldValues, companyName: await readCompany() })
  const insert = (ctx: Ctx) => insertContact(ctx, contact)
  const needsTransaction = contact.externalId !== null || (await contactQuota.isExact(ctx))
  const isInserted = await (needsTransaction ? inTransaction(ctx, insert) : insert(ctx))
  if (isInserted) return toContact(contact)
  // Throws if the company was deleted in the meantime.
  await readCompany()
  throw await alreadyExists(ctx, contact)
}

/**
 * Inserts a contact and emits `contact.created`. Returns false if the email or external id is taken, or if a custom
 * field or the company was removed after the check. Throws `quota_exceeded`, and `already_exists` for an alias.
 */
async function insertContact(ctx: Ctx, contact: ContactRow): Promise<boolean> {
  const quota = await contactQuota.require(ctx)
  const isInserted = await insertRow(ctx, contact)
  if (!isInserted) return false
  if (contact.externalId !== null) await requireNoAlias(ctx, contact.externalId)
  contactQuota.add(ctx, quota, 1)
  return true
}

const insertRow = insertWithEvents({
  into: jsonRows(contacts),
  event: contactCreated,
  toData: toContact,
  // The insert order of all writers, see write-contacts.ts.
  orderBy: sql`lower(email collate "C")`,
  references: bothReferences(customFieldsOf('CONTACT'), companyOf),
})
