import { sql } from 'drizzle-orm'
import { jsonRows } from '../db/json-rows.ts'
import { contacts } from '../db/schema/index.ts'
import { insertWithEvents } from '../events/insert-with-events.ts'
import { newId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { alreadyExists, findContactByEmail } from './contact-address.ts'
import { contactCreated } from './contact-events.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { Contact, ContactInput } from './contacts.schema.ts'
import {
  checkCustomValues,
  type CustomValues,
  lockCustomFields,
  mergeCustomValues,
} from './custom-fields/custom-fields.ts'

/** Creates a contact and emits `contact.created`. Throws `conflict`, with the id of the contact that has the address. */
export async function createContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  const contact = await checkNewContact(ctx, input)
  if (await insertContact(ctx, contact)) return toContact(contact)
  throw alreadyExists(await findContactByEmail(ctx, contact.email))
}

/** The row of a new contact. Throws `invalid` for an unknown custom field or a wrong value of one. */
export async function checkNewContact(ctx: Ctx, input: ContactInput): Promise<ContactRow> {
  const customFieldValues = await checkCustomValues(ctx, input.customFieldValues ?? {})
  return newContactRow(ctx, { ...input, customFieldValues: mergeCustomValues({}, customFieldValues) })
}

/** The row of a new contact whose custom field values are checked. */
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
 * Inserts a complete contact and emits `contact.created`. Returns false when the address is taken, or when a custom field
 * was removed since the contact was completed.
 */
export const insertContact = insertWithEvents({
  into: jsonRows(contacts),
  event: contactCreated,
  toData: toContact,
  // Every writer of many contacts takes them in this order, so that no two wait for each other.
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
