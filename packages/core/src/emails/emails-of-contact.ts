/** The emails of a contact that is merged or deleted. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { emails } from '../db/schema/index.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { finishWork } from '../work/enqueue.ts'

/** Moves the emails of a merged contact to the remaining contact. The caller has locked both. */
export async function moveEmails(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db.update(emails).set({ contactId: to }).where(ofContact(ctx, from))
}

/**
 * Deletes the PENDING emails of a locked contact with their work: they are not sent. Ended ones keep their template and
 * status, without the contact.
 */
export async function forgetEmailsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  const isPending = and(ofContact(ctx, contactId), eq(emails.status, 'PENDING'))
  // The emails before their work, as in every transaction that ends one.
  const pending = await ctx.db.select({ id: emails.id }).from(emails).where(isPending).orderBy(emails.id).for('update')
  const ids = pending.map(({ id }) => id)
  if (ids.length > 0) {
    await ctx.db.delete(emails).where(and(eq(emails.workspaceId, ctx.workspaceId), inArray(emails.id, ids)))
    await finishWork(ctx, ids.map(uuidOf))
  }
  await ctx.db
    .update(emails)
    .set({ contactId: null, reason: null, tags: sql`'{}'::text[]` })
    .where(ofContact(ctx, contactId))
}

const ofContact = (ctx: Ctx, contactId: ContactId) =>
  and(eq(emails.workspaceId, ctx.workspaceId), eq(emails.contactId, contactId))
