/** Addresses that bounced permanently or complained: the workspace sends them no email, whichever contact has them. */
import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { suppressions } from '../db/schema/index.ts'
import { hashEmail, hashEmailWithAllKeys } from './opt-outs.ts'

export type SuppressedStatus = (typeof suppressions.$inferSelect)['status']

/** Suppresses an address permanently; imports and subscribe requests do not undo it. A complaint replaces a bounce. */
export async function suppressAddress(ctx: Ctx, email: string, status: SuppressedStatus): Promise<void> {
  await ctx.db
    .insert(suppressions)
    .values({ workspaceId: ctx.workspaceId, emailHash: hashEmail(ctx, email), status })
    .onConflictDoUpdate({
      target: [suppressions.workspaceId, suppressions.emailHash],
      set: { status },
      setWhere: sql`${suppressions.status} = 'BOUNCED'`,
    })
}

/** Returns why an address is suppressed, or undefined if it is not. A complaint takes precedence over a bounce. */
export async function readSuppression(ctx: Ctx, email: string): Promise<SuppressedStatus | undefined> {
  const [row] = await ctx.db
    .select({ status: suppressions.status })
    .from(suppressions)
    .where(
      and(
        eq(suppressions.workspaceId, ctx.workspaceId),
        inArray(suppressions.emailHash, hashEmailWithAllKeys(ctx, email)),
      ),
    )
    .orderBy(desc(suppressions.status))
    .limit(1)
  return row?.status
}

/** Sets the subscriptions of a locked contact to `status`, except complaints. Returns whether any changed. */
export async function suppressSubscriptions(
  ctx: Ctx,
  contactId: ContactId,
  status: SuppressedStatus,
): Promise<boolean> {
  const changed = await ctx.db.execute(sql`
    update subscriptions set status = ${status}, is_removed = false
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contactId)}
      and status not in (${status}, 'COMPLAINED')`)
  return (changed.rowCount ?? 0) > 0
}
