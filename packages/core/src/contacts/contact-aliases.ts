/**
 * Aliases map the ids of merged contacts to the remaining contact: links in older emails keep working, and the
 * remaining contact shows the events of all of them.
 */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { contactAliases, contacts } from '../db/schema/index.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { Page } from '../request/paging.ts'

/** Maps a merged contact's id, and all ids that already point to it, to another contact. */
export async function redirectAliases(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db.update(contactAliases).set({ contactId: contacts.to }).where(pointTo(ctx, contacts.from))
  await ctx.db
    .insert(contactAliases)
    .values({ workspaceId: ctx.workspaceId, id: contacts.from, contactId: contacts.to })
}

/** Deletes the aliases that point to a contact. */
export async function deleteAliasesOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db.delete(contactAliases).where(pointTo(ctx, contactId))
}

/** Selects the `id` of a contact and of all contacts that were merged into it, also in several steps. */
export function selectMergedIds(ctx: Ctx, contactId: ContactId): SQL {
  return sql`
    select ${uuidOf(contactId)}::uuid as id
    union all select ${contactAliases.id} from ${contactAliases} where ${pointTo(ctx, contactId)}`
}

/** Returns the contact, or the one into which it was merged, with its present address; undefined if it is deleted. */
export async function findCurrentContact(
  ctx: Ctx,
  id: ContactId,
): Promise<{ id: ContactId; email: string } | undefined> {
  const remaining = ctx.db
    .select({ id: contactAliases.contactId })
    .from(contactAliases)
    .where(and(eq(contactAliases.workspaceId, ctx.workspaceId), eq(contactAliases.id, id)))
  // One id: with `or`, PostgreSQL reads all contacts of the workspace.
  const current = sql`coalesce((${remaining}), ${uuidOf(id)}::uuid)`
  const [contact] = await ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, current)))
  return contact
}

/** Lists the ids of all contacts that were merged into a contact, in one page. */
export async function listFormerIds(ctx: Ctx, contactId: ContactId): Promise<Page<ContactId>> {
  const aliases = await ctx.db
    .select({ id: contactAliases.id })
    .from(contactAliases)
    .where(pointTo(ctx, contactId))
    .orderBy(contactAliases.id)
  return { data: aliases.map(({ id }) => id), nextCursor: null }
}

function pointTo(ctx: Ctx, contactId: ContactId) {
  return and(eq(contactAliases.workspaceId, ctx.workspaceId), eq(contactAliases.contactId, contactId))
}
