/**
 * Opt-outs that outlive their contact. When a contact is deleted or gets another email, the old address remains opted
 * out until its owner opts in again.
 */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { optOuts } from '../db/schema/index.ts'
import { type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { hashEmail, hashEmailWithAllKeys } from './hash-email.ts'

/**
 * Stores the opt-outs of a contact that is about to lose its address, in the same transaction. A removal by the
 * operator is not an opt-out, and a bounce is stored as a suppression.
 */
export async function storeOptOutsOfContact(ctx: Ctx, contact: { id: ContactId; email: string }): Promise<void> {
  await ctx.db.execute(sql`
    insert into opt_outs (workspace_id, list_id, email_hash, status)
    select workspace_id, list_id, ${hashEmail(ctx, contact.email)},
      case when status = 'COMPLAINED' then status else 'UNSUBSCRIBED' end
    from subscriptions
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contact.id)} and not is_removed
      and (status in ('UNSUBSCRIBED', 'COMPLAINED') or (status = 'BOUNCED' and unsubscribed_at is not null))
    on conflict (workspace_id, list_id, email_hash) do update set status = opt_outs.status`)
}

/**
 * Stores the opt-out of an address, whether or not a contact has it. A repeated one is stored as new, so that it is later
 * than a confirmation link that was mailed meanwhile. No-op if the list does not exist.
 */
export async function storeOptOut(ctx: Ctx, listId: ListId, emailHash: string): Promise<void> {
  await ctx.db.execute(sql`
    insert into opt_outs (workspace_id, list_id, email_hash, status)
    select workspace_id, id, ${emailHash}, 'UNSUBSCRIBED' from lists
    where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(listId)}
    for key share
    on conflict (workspace_id, list_id, email_hash) do update
    set created_at = excluded.created_at`)
}

/** Stores the opt-outs of addresses from a locked list. */
export async function storeOptOuts(ctx: Ctx, listId: ListId, emails: readonly string[]): Promise<void> {
  const hashes = new Set(emails.map((email) => hashEmail(ctx, email)))
  if (hashes.size === 0) return
  const { workspaceId } = ctx
  await ctx.db
    .insert(optOuts)
    .values([...hashes].map((emailHash) => ({ workspaceId, listId, emailHash, status: 'UNSUBSCRIBED' as const })))
    .onConflictDoUpdate({
      target: [optOuts.workspaceId, optOuts.listId, optOuts.emailHash],
      // Changes nothing, but waits for a confirmation that is deleting the row.
      set: { status: sql`opt_outs.status` },
    })
}

/** Stores the opt-outs of one address for another address of the same person too. Of two moments, the later one counts. */
export async function copyOptOuts(ctx: Ctx, { from, to }: { from: string; to: string }): Promise<void> {
  const { workspaceId, listId, status } = optOuts
  const copied = ctx.db
    .select({
      workspaceId,
      listId,
      emailHash: sql`${hashEmail(ctx, to)}`.as('email_hash'),
      status: sql`max(${status})`.as('status'),
      createdAt: sql`max(${optOuts.createdAt})`.as('created_at'),
    })
    .from(optOuts)
    .where(isOptOutOf(ctx, from))
    // An address has a hash of each key.
    .groupBy(workspaceId, listId)
  await ctx.db
    .insert(optOuts)
    .select(copied)
    .onConflictDoUpdate({
      target: [workspaceId, listId, optOuts.emailHash],
      set: { createdAt: sql`greatest(opt_outs.created_at, excluded.created_at)` },
    })
}

/** Matches the stored opt-outs of an address, for all lists. */
export function isOptOutOf(ctx: Ctx, email: string) {
  return and(eq(optOuts.workspaceId, ctx.workspaceId), inArray(optOuts.emailHash, hashEmailWithAllKeys(ctx, email)))
}

/** Deletes a stored opt-out, after its owner opted in again by an emailed link. */
export async function deleteOptOut(ctx: Ctx, listId: ListId, email: string): Promise<void> {
  await ctx.db.delete(optOuts).where(and(eq(optOuts.listId, listId), isOptOutOf(ctx, email)))
}
