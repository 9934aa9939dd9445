/** Deliveries that end without an attempt: their webhook was disabled or deleted, or they expired. */
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { defaultRetention, type Retention } from '../../kernel/retention.ts'
import { idOf, uuidAt, uuidOf, type WorkspaceId } from '../../kernel/ids.ts'
import { lockDrain } from './drain-claim.ts'

const rowsPerStep = 500

/**
 * Marks up to `rowsPerStep` PENDING deliveries of disabled and deleted webhooks as FAILED, except those in flight. Only
 * the owner of the claim calls it, in the transaction of a take. Returns whether there may be more.
 */
export async function failAbandonedDeliveries(
  db: Db,
  { workspaceId }: { workspaceId: WorkspaceId },
  inFlight: readonly string[],
): Promise<boolean> {
  // The ids come from a CTE, to prevent partition pruning: see `take-deliveries.ts`.
  const result = await db.execute(sql`
    with abandoned as materialized (
      select w.id as webhook_id, waiting.id from webhooks w
      cross join lateral (
        select d.id from deliveries d
        where d.workspace_id = ${uuidOf(workspaceId)} and d.webhook_id = w.id and d.status = 'PENDING'
          and d.id <> all(${sql.param([...inFlight])}::uuid[])
        order by d.created_at, d.id limit ${rowsPerStep}) waiting
      where w.workspace_id = ${uuidOf(workspaceId)} and not w.enabled limit ${rowsPerStep})
    update deliveries d set status = 'FAILED',
      error = case when w.deleted_at is null then 'The webhook was disabled' else 'The webhook was deleted' end
    from webhooks w
    where w.workspace_id = d.workspace_id and w.id = d.webhook_id and not w.enabled
      and d.workspace_id = ${uuidOf(workspaceId)} and d.webhook_id = any(array(select webhook_id from abandoned))
      and d.id = any(array(select id from abandoned)) and d.status = 'PENDING'`)
  return result.rowCount === rowsPerStep
}

type EventRetention = Pick<Retention, 'eventsDays'>

/**
 * Marks deliveries that have been PENDING for the retention of events as FAILED, so that their partition can be
 * dropped. Skips deliveries that may be in flight. Processes the workspaces of up to `rowsPerStep` expired deliveries,
 * and returns the number of deliveries.
 */
export async function expireDeliveries(db: Db, { eventsDays }: EventRetention = defaultRetention): Promise<number> {
  // Takes no locks: `expireBacklog` locks the drain of one workspace at a time and selects its deliveries again.
  const old = await db.execute<{ workspace_id: string }>(sql`
    select distinct workspace_id from (
      select workspace_id from deliveries
      where status = 'PENDING' and created_at < now() - ${eventsDays} * interval '1 day' limit ${rowsPerStep}) old`)
  let expired = 0
  for (const { workspace_id } of old.rows) expired += await expireBacklog(db, idOf('wsp', workspace_id), eventsDays)
  return expired
}

function expireBacklog(db: Db, workspaceId: WorkspaceId, eventsDays: number): Promise<number> {
  return lockDrain(db, workspaceId, async (db, { inFlight }) => {
    const isOfWorkspace = sql`workspace_id = ${uuidOf(workspaceId)}`
    const result = await db.execute(sql`
      update deliveries set status = 'FAILED', error = 'expired'
      where ${isOfWorkspace} and status = 'PENDING' and id in (
        select id from deliveries
        where ${isOfWorkspace} and status = 'PENDING' and id <> all(${sql.param(inFlight)}::uuid[])
          and created_at < now() - ${eventsDays} * interval '1 day'
        order by webhook_id, created_at, id limit ${rowsPerStep})`)
    return result.rowCount ?? 0
  })
}

/**
 * Deletes up to `rowsPerStep` expired deliveries in a partition that cannot be dropped yet, because it spans more than
 * a week. Returns their number.
 */
export async function purgeDeliveries(db: Db, { eventsDays }: EventRetention = defaultRetention): Promise<number> {
  const firstKeptId = uuidAt(Date.now() - (eventsDays + 7) * 86_400_000)
  // A separate query without locks, because it uses a range of ids: see `take-deliveries.ts`.
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
