import { sql } from 'drizzle-orm'
import { noteSubscriptionChange } from '../contacts/contacts.ts'
import type { Ctx } from '../context.ts'
import { idOf, uuidOf } from '../ids.ts'
import { findOptOuts, hashEmail } from './opt-outs.ts'

/**
 * Confirms the contacts of these addresses on a list, on somebody's word that they consented. Who has ever opted out of
 * it stays out: whoever is UNSUBSCRIBED, BOUNCED or COMPLAINED, and whoever was before they were deleted. Tells no event.
 */
export async function confirmSubscribers(ctx: Ctx, listId: string, emails: readonly string[]): Promise<void> {
  const hashes = new Map(emails.map((email) => [hashEmail(ctx, email), email.toLowerCase()]))
  const optOuts = await findOptOuts(ctx, listId, [...hashes.keys()])
  for (const hash of optOuts) hashes.delete(hash)
  if (hashes.size === 0) return
  const result = await ctx.db.execute<{ contact_id: string }>(sql`
    insert into subscriptions as s (workspace_id, list_id, contact_id, status, source, confirmed_at)
    select c.workspace_id, ${uuidOf(listId)}::uuid, c.id, 'CONFIRMED', 'import', now()
    from unnest(${sql.param([...hashes.values()])}::text[]) as person (email)
    join contacts c on c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and lower(c.email) = person.email
    order by c.id
    on conflict (workspace_id, list_id, contact_id) do update
    set status = 'CONFIRMED', confirmed_at = now()
    where s.status = 'PENDING'
    returning contact_id`)
  const changed = result.rows.map((row) => idOf('con', row.contact_id))
  if (changed.length > 0) await noteSubscriptionChange(ctx, changed)
}
