import { sql } from 'drizzle-orm'
import { jsonRows } from '../db/json-rows.ts'
import { contacts } from '../db/schema/index.ts'
import { insertWithEvents } from '../events/insert-with-events.ts'
import { newId } from '../kernel/ids.ts'
import { isContactQuotaExact, requireContactQuota } from '../quotas/contact-quota.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { alreadyExists, findContactByEmail } from './contact-address.ts'
import { contactCreated } from './contact-events.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { Contact, ContactInput } from './contacts.schema.ts'
import {
  checkCustomValues,
  type CustomValues,
  lockCustomFields,
  mergeCustomValues,
  requireCustomValueSize,
} from '../custom-fields/custom-fields.ts'

/**
 * Creates a contact and emits `contact.created`. Throws `already_exists` with the id of the existing contact if the
 * email is taken, and `quota_exceeded` if the workspace has the maximum number of contacts.
 */
export async function createContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  const contact = await checkNewContact(ctx, input)
  requireCustomValueSize(contact.customFieldValues)
  const insert = (ctx: Ctx) => insertContact(ctx, contact)
  const isInserted = await ((await isContactQuotaExact(ctx)) ? inTransaction(ctx, insert) : insert(ctx))
  if (isInserted) return toContact(contact)
  throw alreadyExists(await findContactByEmail(ctx, contact.email))
}

/** Builds the row of a new contact. Throws `validation_error` for unknown or invalid custom values. */
export async function checkNewContact(ctx: Ctx, input: ContactInput): Promise<ContactRow> {
  const checked = await checkCustomValues(ctx, input.customFieldValues ?? {})
  return newContactRow(ctx, { ...input, customFieldValues: mergeCustomValues({}, checked) })
}

/** Builds the row of a new contact from checked input. */
export function newContactRow(ctx: Ctx, input: CheckedContact): ContactRow {
  const now = new Date()
  return {
    workspaceId: ctx.workspaceId,
    id: newId('con'),
    email: input.email,
    firstName: input.firstName ?? '',
    lastName: input.lastName ?? '',
    phone: input.phone ?? null,
    company: input.company ?? null,
    customFieldValues: input.customFieldValues,
    tags: input.tags ?? [],
    emailSubscribedStatus: 'NONE',
    lastActivityAt: null,
    source: input.source ?? null,
    createdAt: now,
    updatedAt: now,
  }
}

export type CheckedContact = Omit<ContactInput, 'customFieldValues'> & { customFieldValues: CustomValues }

/**
 * Inserts a contact and emits `contact.created`. Returns false if the email is taken, or if a custom field was removed
 * after the values were checked. Throws `quota_exceeded`.
 */
export async function insertContact(ctx: Ctx, contact: ContactRow): Promise<boolean> {
  const quota = await requireContactQuota(ctx)
  const isInserted = await insertRow(ctx, contact)
  if (isInserted) quota.used += 1
  return isInserted
}

const insertRow = insertWithEvents({
  into: jsonRows(contacts),
  event: contactCreated,
  toData: toContact,
  // The lock order of all bulk writers; it prevents deadlocks.
  orderBy: sql`lower(email)`,
  references: {
    keysOf: customFieldKeys,
    async lock(ctx, rows, options) {
      const fields = await lockCustomFields(ctx, rows.flatMap(customFieldKeys), options)
      return new Set(fields.keys())
    },
  },
})

function customFieldKeys({ customFieldValues }: ContactRow): string[] {
  return Object.keys(customFieldValues)
}
