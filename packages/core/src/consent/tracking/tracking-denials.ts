/**
 * Denials that outlive their contact. When a contact is deleted or gets another email, the old address is not tracked
 * until its owner grants it.
 */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { trackingDenials } from '../../db/schema/index.ts'
import { isAnyOf } from '../../db/statements/is-any-of.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { AddressedContact } from '../consent-records.ts'
import { hashEmail, hashEmails, hashEmailWithAllKeys } from '../hash-email.ts'
import type { TrackedAction } from './tracking-level.ts'

/** Stores the denials of a contact that is about to lose its address, in the same transaction. */
export async function storeTrackingDenials(ctx: Ctx, contact: AddressedContact): Promise<void> {
  await ctx.db.execute(sql`
    insert into tracking_denials (workspace_id, email_hash, action)
    select c.workspace_id, ${hashEmail(ctx, contact.email)}, denied.action
    from tracking_consents c cross join lateral (values ('opens', c.opens), ('clicks', c.clicks)) as denied (action, choice)
    where c.workspace_id = ${uuidOf(ctx.workspaceId)} and c.contact_id = ${uuidOf(contact.id)} and denied.choice = 'DENIED'
    on conflict do nothing`)
}

/** Stores the denials of one address for another address of the same person too. */
export async function copyTrackingDenials(ctx: Ctx, { from, to }: { from: string; to: string }): Promise<void> {
  const denied = await findTrackingDenials(ctx, [from])
  const rows = (denied.get(from) ?? []).map((action) => ({
    workspaceId: ctx.workspaceId,
    emailHash: hashEmail(ctx, to),
    action,
  }))
  if (rows.length > 0) await ctx.db.insert(trackingDenials).values(rows).onConflictDoNothing()
}

/** Returns what addresses denied, also before they belonged to their present contact. */
export async function findTrackingDenials(ctx: Ctx, emails: readonly string[]): Promise<Map<string, TrackedAction[]>> {
  const emailOf = hashEmails(ctx, emails)
  const { emailHash, action } = trackingDenials
  const rows = await ctx.db
    .select({ emailHash, action })
    .from(trackingDenials)
    .where(and(eq(trackingDenials.workspaceId, ctx.workspaceId), isAnyOf(emailHash, [...emailOf.keys()])))
  const byEmail = Map.groupBy(rows, (row) => emailOf.get(row.emailHash) ?? '')
  return new Map([...byEmail].map(([email, denials]) => [email, denials.map((denial) => denial.action)]))
}

/** Lifts what an address denied, because its owner grants it now. */
export async function liftTrackingDenials(ctx: Ctx, email: string, granted: readonly TrackedAction[]): Promise<void> {
  await ctx.db
    .delete(trackingDenials)
    .where(
      and(
        eq(trackingDenials.workspaceId, ctx.workspaceId),
        inArray(trackingDenials.emailHash, hashEmailWithAllKeys(ctx, email)),
        inArray(trackingDenials.action, [...granted]),
      ),
    )
}
