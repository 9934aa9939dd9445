/**
 * Opt-outs that outlive their contact. When a contact is deleted or gets another email, the old address remains opted
 * out until its owner opts in again.
 */
import { createHmac } from 'node:crypto'
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from '../request/context.ts'
import { type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import { optOuts, suppressions } from '../db/schema/index.ts'

/** A keyed hash that differs by workspace: it identifies a known address but does not reveal it. */
export function hashEmail(ctx: Ctx, email: string): string {
  return hashWith(ctx.settings.keys.optOuts[0], ctx, email)
}

/** Returns the hashes of an address with the current key and with all former keys. */
export function hashEmailWithAllKeys(ctx: Ctx, email: string): string[] {
  return ctx.settings.keys.optOuts.map((key) => hashWith(key, ctx, email))
}

function hashWith(key: Buffer, ctx: Ctx, email: string): string {
  return createHmac('sha256', key).update(`${ctx.workspaceId} ${email.toLowerCase()}`).digest('base64url')
}

/**
 * Stores the opt-outs of a contact that is about to lose its address, in the same transaction. A removal by the
 * operator is not an opt-out.
 */
export async function storeOptOutsOfContact(ctx: Ctx, contact: { id: ContactId; email: string }): Promise<void> {
  await ctx.db.execute(sql`
    insert into opt_outs (workspace_id, list_id, email_hash, status)
    select workspace_id, list_id, ${hashEmail(ctx, contact.email)}, status
    from subscriptions
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contact.id)}
      and status in ('UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED') and not is_removed
    on conflict do nothing`)
}

/** Stores the opt-out of an address, whether or not a contact has it. No-op if the list does not exist. */
export async function storeOptOut(ctx: Ctx, listId: ListId, emailHash: string): Promise<void> {
  await ctx.db.execute(sql`
    insert into opt_outs (workspace_id, list_id, email_hash, status)
    select workspace_id, id, ${emailHash}, 'UNSUBSCRIBED' from lists
    where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(listId)}
    for key share
    on conflict do nothing`)
}

/** Matches the stored opt-outs of an address, for all lists. */
export function isOptOutOf(ctx: Ctx, email: string) {
  return and(eq(optOuts.workspaceId, ctx.workspaceId), inArray(optOuts.emailHash, hashEmailWithAllKeys(ctx, email)))
}

/** Returns the addresses that have a stored opt-out for the list or are suppressed. */
export async function findOptOuts(ctx: Ctx, listId: ListId, emails: readonly string[]): Promise<Set<string>> {
  const emailOf = new Map(emails.flatMap((email) => hashEmailWithAllKeys(ctx, email).map((hash) => [hash, email])))
  const isAmong = (column: AnyPgColumn) => sql`${column} = any(${sql.param([...emailOf.keys()])})`
  const rows = await ctx.db
    .select({ emailHash: optOuts.emailHash })
    .from(optOuts)
    .where(and(eq(optOuts.workspaceId, ctx.workspaceId), eq(optOuts.listId, listId), isAmong(optOuts.emailHash)))
    .union(
      ctx.db
        .select({ emailHash: suppressions.emailHash })
        .from(suppressions)
        .where(and(eq(suppressions.workspaceId, ctx.workspaceId), isAmong(suppressions.emailHash))),
    )
  return new Set(rows.map((row) => emailOf.get(row.emailHash) ?? ''))
}

/** Deletes a stored opt-out, after its owner opted in again by an emailed link. */
export async function deleteOptOut(ctx: Ctx, listId: ListId, email: string): Promise<void> {
  await ctx.db.delete(optOuts).where(and(eq(optOuts.listId, listId), isOptOutOf(ctx, email)))
}
