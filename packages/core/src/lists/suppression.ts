/** Addresses that bounced for good, or complained: kept out of every list of the workspace, whoever they belong to. */
import { and, eq, sql } from 'drizzle-orm'
import { findContactByEmail, lockContact, noteSubscriptionChange } from '../contacts/contacts.ts'
import type { Ctx } from '../context.ts'
import { uuidOf } from '../ids.ts'
import { suppressions } from '../schema.ts'
import { hashEmail } from './opt-outs.ts'

type SuppressedStatus = (typeof suppressions.$inferSelect)['status']

/**
 * Keeps an address out from now on, and takes the contact who has it off every list. Of a bounce and a complaint the
 * complaint stays. No import and no sign-up undoes it. Part of the caller's transaction.
 */
export async function suppressAddress(ctx: Ctx, email: string, status: SuppressedStatus): Promise<void> {
  await ctx.db
    .insert(suppressions)
    .values({ workspaceId: ctx.workspaceId, emailHash: hashEmail(ctx, email), status })
    .onConflictDoUpdate({
      target: [suppressions.workspaceId, suppressions.emailHash],
      set: { status },
      setWhere: sql`${suppressions.status} = 'BOUNCED'`,
    })
  const contact = await findContactByEmail(ctx, email)
  if (contact) await suppressContact(ctx, contact.id, status)
}

/** For a contact whose address changed: at one that is suppressed they are on no list any more. Answers whether it is. */
export async function respectSuppression(ctx: Ctx, contact: { id: string; email: string }): Promise<boolean> {
  const status = await readSuppression(ctx, contact.email)
  if (status) await suppressContact(ctx, contact.id, status)
  return status !== undefined
}

/** Why nothing may be sent to an address; undefined when nothing is known against it. */
export async function readSuppression(ctx: Ctx, email: string): Promise<SuppressedStatus | undefined> {
  const [row] = await ctx.db
    .select({ status: suppressions.status })
    .from(suppressions)
    .where(and(eq(suppressions.workspaceId, ctx.workspaceId), eq(suppressions.emailHash, hashEmail(ctx, email))))
  return row?.status
}

async function suppressContact(ctx: Ctx, contactId: string, status: SuppressedStatus) {
  if (!(await lockContact(ctx, contactId))) return
  const changed = await ctx.db.execute(sql`
    update subscriptions set status = ${status}
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contactId)}
      and status not in (${status}, 'COMPLAINED')`)
  if (changed.rowCount) await noteSubscriptionChange(ctx, [contactId])
}
