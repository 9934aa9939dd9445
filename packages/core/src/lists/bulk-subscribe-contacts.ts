import { sql } from 'drizzle-orm'
import { lockContactsByEmail } from '../contacts/bulk-write-contacts.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { idOf, type ListId, uuidOf } from '../kernel/ids.ts'
import { lockList } from './lists.ts'
import { findOptOuts } from '../subscriptions/opt-outs.ts'

/**
 * Confirms the contacts of these addresses on a list, on somebody's word that they consented. Who has ever opted out of
 * it stays out: whoever is UNSUBSCRIBED, BOUNCED or COMPLAINED, and whoever was before they were deleted. Tells no event. Throws
 * when the list is not there any more.
 */
export async function confirmSubscribers(ctx: Ctx, listId: ListId, emails: readonly string[]): Promise<void> {
  // Whoever changes subscriptions of a contact has the contact first, so that its status is derived from all of them.
  const contacts = await lockContactsByEmail(ctx, emails)
  if (!(await lockList(ctx, listId))) throw notFound('List')
  const addresses = contacts.map(({ email }) => email)
  const optOuts = await findOptOuts(ctx, listId, addresses)
  const allowed = contacts.filter(({ email }) => !optOuts.has(email)).map(({ id }) => id)
  if (allowed.length === 0) return
  const now = sql`${new Date().toISOString()}::timestamptz`
  const result = await ctx.db.execute<{ contact_id: string }>(sql`
    insert into subscriptions as s (workspace_id, list_id, contact_id, status, source, confirmed_at, created_at)
    select ${uuidOf(ctx.workspaceId)}::uuid, ${uuidOf(listId)}::uuid, id, 'CONFIRMED', 'import', ${now}, ${now}
    from unnest(${sql.param(allowed.map(uuidOf))}::uuid[]) as contact (id)
    on conflict (workspace_id, list_id, contact_id) do update
    set status = 'CONFIRMED', confirmed_at = excluded.confirmed_at
    where s.status = 'PENDING'
    returning contact_id`)
  const changed = result.rows.map((row) => idOf('con', row.contact_id))
  if (changed.length > 0) await recordSubscriptionActivity(ctx, changed)
}
