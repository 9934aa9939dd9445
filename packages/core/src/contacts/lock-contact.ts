import type { AddressedContact } from '../consent/consent-records.ts'
import { and, eq, inArray, sql, type SQLWrapper } from 'drizzle-orm'
import { type Params, prepared } from '../db/prepared-query.ts'
import { contactAliases, contacts } from '../db/schema/index.ts'
import type { ContactId, WorkspaceId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'

/**
 * Locks a contact until the transaction ends. Returns undefined if it does not exist. Every change of a contact or of
 * its records takes this lock first, so that derived statuses are consistent and concurrent changes do not deadlock.
 */
export async function lockContact(ctx: Ctx, id: ContactId): Promise<ContactRow | undefined> {
  const [row] = await selectForUpdate(ctx.db, { workspaceId: ctx.workspaceId, id })
  return row
}

/** Prepared, because every change of a contact starts with it: see `updateStatement`. */
const selectForUpdate = prepared('lock a contact', (db, param: Params<{ workspaceId: WorkspaceId; id: ContactId }>) =>
  db
    .select(contactColumns)
    .from(contacts)
    .where(
      and(
        eq(contacts.workspaceId, sql.param(param('workspaceId'), contacts.workspaceId)),
        eq(contacts.id, sql.param(param('id'), contacts.id)),
      ),
    )
    .for('no key update'),
)

/**
 * Locks several contacts, by their ids or a subquery for these, in the order of their ids like all writers, which prevents
 * deadlocks.
 */
export async function lockContacts(ctx: Ctx, ids: readonly ContactId[] | SQLWrapper): Promise<AddressedContact[]> {
  return await ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, ids)))
    .orderBy(contacts.id)
    .for('no key update')
}

/** Locks a contact, or the contact that it was merged into. Returns undefined if it was deleted. */
export async function lockCurrentContact(ctx: Ctx, id: ContactId): Promise<ContactRow | undefined> {
  const contact = await lockContact(ctx, id)
  if (contact) return contact
  const [alias] = await ctx.db
    .select({ contactId: contactAliases.contactId })
    .from(contactAliases)
    .where(byId(contactAliases, ctx, id))
  return alias && lockCurrentContact(ctx, alias.contactId)
}
