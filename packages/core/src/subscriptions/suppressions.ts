/** Addresses that bounced for good, or complained: kept out of every list of the workspace, whoever they belong to. */
import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { suppressions } from '../db/schema/index.ts'
import { hashEmail, hashEmailWithAllKeys } from './opt-outs.ts'

export type SuppressedStatus = (typeof suppressions.$inferSelect)['status']

/** Keeps an address out from now on: no import and no sign-up undoes it. Of a bounce and a complaint the complaint stays. */
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

/** Why nothing may be sent to an address, the complaint first; undefined when nothing is known against it. */
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

/** Takes a contact, who is locked, off every list. Answers whether they were on any. */
export async function suppressSubscriptions(
  ctx: Ctx,
  contactId: ContactId,
  status: SuppressedStatus,
): Promise<boolean> {
  const changed = await ctx.db.execute(sql`
    update subscriptions set status = ${status}
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contactId)}
      and status not in (${status}, 'COMPLAINED')`)
  return (changed.rowCount ?? 0) > 0
}
