import { sql } from 'drizzle-orm'
import { lockContactsByEmail } from '../contacts/bulk-write-contacts.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { idOf, type ListId, uuidOf } from '../kernel/ids.ts'
import { lockList } from './lists.ts'
import { findOptOuts } from '../subscriptions/opt-outs.ts'

/**
 * Confirms the contacts with these emails on a list, after they have consented elsewhere, even if the operator removed
 * them from it. A contact that opted out, bounced or complained keeps its status. An email whose former contact opted out
 * is skipped. Emits no events. Throws `not_found` if the list does not exist.
 */
export async function confirmSubscribers(ctx: Ctx, listId: ListId, emails: readonly string[]): Promise<void> {
  // Contacts are locked before their subscriptions change, so that their status is derived from all subscriptions.
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
    set status = 'CONFIRMED', confirmed_at = excluded.confirmed_at, unsubscribed_at = null, is_removed = false
    where s.status = 'PENDING' or s.is_removed
    returning contact_id`)
  const changed = result.rows.map((row) => idOf('con', row.contact_id))
  if (changed.length > 0) await recordSubscriptionActivity(ctx, changed)
}
