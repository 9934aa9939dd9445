/** Deliveries that end without an attempt: their webhook was disabled or deleted, or they expired. */
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { defaultRetention, type Retention } from '../../kernel/retention.ts'
import { transaction } from '../../db/transaction.ts'
import { uuidAt, uuidOf } from '../../kernel/ids.ts'
import type { BacklogKey } from './find-backlogs.ts'

const rowsPerStep = 500

/**
 * Marks up to `rowsPerStep` PENDING deliveries of a disabled or deleted webhook as FAILED, except those in flight. Only
 * the owner of the claim calls it, in the transaction of a take. Returns whether there may be more.
 */
export async function failPendingDeliveries(
  db: Db,
  { workspaceId, webhookId }: BacklogKey,
  inFlight: readonly string[],
): Promise<boolean> {
  const result = await db.execute(sql`
    update deliveries d set status = 'FAILED',
      error = case when w.deleted_at is null then 'The webhook was disabled' else 'The webhook was deleted' end
    from webhooks w
    where w.workspace_id = d.workspace_id and w.id = d.webhook_id and not w.enabled
      and d.workspace_id = ${uuidOf(workspaceId)} and d.webhook_id = ${uuidOf(webhookId)}
      and d.id in (
        select id from deliveries
        where workspace_id = ${uuidOf(workspaceId)} and webhook_id = ${uuidOf(webhookId)}
          and status = 'PENDING' and id <> all(${sql.param([...inFlight])}::uuid[])
        order by created_at, id limit ${rowsPerStep})`)
  return result.rowCount === rowsPerStep
}

type EventRetention = Pick<Retention, 'eventsDays'>

interface BacklogRow extends Record<string, unknown> {
  workspace_id: string
  webhook_id: string
}

/**
 * Marks deliveries that have been PENDING for the retention of events as FAILED, so that their partition can be
 * dropped. Skips deliveries that may be in flight. Processes the webhooks of up to `rowsPerStep` expired deliveries,
 * and returns the number of deliveries.
 */
export async function expireDeliveries(db: Db, { eventsDays }: EventRetention = defaultRetention): Promise<number> {
  // Takes no locks: `expireBacklog` locks one webhook at a time and selects its deliveries again.
  const old = await db.execute<BacklogRow>(sql`
    select distinct workspace_id, webhook_id from (
      select workspace_id, webhook_id from deliveries
      where status = 'PENDING' and created_at < now() - ${eventsDays} * interval '1 day' limit ${rowsPerStep}) old`)
  let expired = 0
  for (const backlog of old.rows) expired += await expireBacklog(db, backlog, eventsDays)
  return expired
}

/** Locks the row of `webhook_drains` first, like a take, so that `delivery_ids` cannot change. */
function expireBacklog(db: Db, { workspace_id, webhook_id }: BacklogRow, eventsDays: number): Promise<number> {
  return transaction(db, async (db) => {
    const isOfWebhook = sql`workspace_id = ${workspace_id} and webhook_id = ${webhook_id}`
    await db.execute(sql`
      insert into webhook_drains (workspace_id, webhook_id) values (${workspace_id}, ${webhook_id}) on conflict do nothing`)
    const drains = await db.execute<{ delivery_ids: string[] }>(
      sql`select delivery_ids from webhook_drains where ${isOfWebhook} for update`,
    )
    const inFlight = drains.rows[0]?.delivery_ids ?? []
    const result = await db.execute(sql`
      update deliveries set status = 'FAILED', error = 'expired'
      where ${isOfWebhook} and status = 'PENDING' and id in (
        select id from deliveries
        where ${isOfWebhook} and status = 'PENDING' and id <> all(${sql.param(inFlight)}::uuid[])
          and created_at < now() - ${eventsDays} * interval '1 day'
        order by created_at, id limit ${rowsPerStep})`)
    return result.rowCount ?? 0
  })
}

/**
 * Deletes up to `rowsPerStep` expired deliveries in a partition that cannot be dropped yet, because it spans more than
 * a week. Returns their number.
 */
export async function purgeDeliveries(db: Db, { eventsDays }: EventRetention = defaultRetention): Promise<number> {
  const firstKeptId = uuidAt(Date.now() - (eventsDays + 7) * 86_400_000)
  // A separate query without locks, because it uses a range of ids: see `takeDeliveries` in `backlog-claim.ts`.
  const old = await db.execute<Record<'workspace_id' | 'webhook_id' | 'id', string>>(sql`
    select workspace_id, webhook_id, id from deliveries where id < ${firstKeptId} and status <> 'PENDING' limit ${rowsPerStep}`)
  const column = (name: 'workspace_id' | 'webhook_id' | 'id') => sql.param(old.rows.map((row) => row[name]))
  const purged = await db.execute(sql`
    delete from deliveries d
    using unnest(${column('workspace_id')}::uuid[], ${column('webhook_id')}::uuid[], ${column('id')}::uuid[])
      as old (workspace_id, webhook_id, id)
    where d.workspace_id = old.workspace_id and d.webhook_id = old.webhook_id and d.id = old.id`)
  return purged.rowCount ?? 0
}
