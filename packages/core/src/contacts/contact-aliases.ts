/** The ids of merged contacts: links in the emails that they got keep working. */
import { and, eq } from 'drizzle-orm'
import { contactAliases } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

/** From now on the id of a merged contact leads to another, as do the ids that led to the merged one. */
export async function redirectAliases(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db.update(contactAliases).set({ contactId: contacts.to }).where(pointTo(ctx, contacts.from))
  await ctx.db
    .insert(contactAliases)
    .values({ workspaceId: ctx.workspaceId, id: contacts.from, contactId: contacts.to })
}

/** Deletes the ids that lead to a contact. */
export async function deleteAliasesOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db.delete(contactAliases).where(pointTo(ctx, contactId))
}

function pointTo(ctx: Ctx, contactId: ContactId) {
  return and(eq(contactAliases.workspaceId, ctx.workspaceId), eq(contactAliases.contactId, contactId))
}
