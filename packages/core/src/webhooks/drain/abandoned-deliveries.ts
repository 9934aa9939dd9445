/** Deliveries that end without an attempt: their webhook was disabled or deleted, or they expired. */
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries } from '../../db/schema/index.ts'
import { arrayOf, int, uuid } from '../../db/statements/sql-types.ts'
import { defaultRetention, type Retention } from '../../kernel/retention.ts'
import { uuidAt, type WorkspaceId } from '../../kernel/ids.ts'
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
  return (await failAbandoned(db, { workspaceId, inFlight })) === rowsPerStep
}

/** The ids come from a CTE, to prevent partition pruning: see `take-deliveries.ts`. */
const failAbandoned = namedStatement('fail abandoned deliveries', {
  params: { workspaceId: deliveries.workspaceId, inFlight: arrayOf(uuid) },
  sql: ({ workspaceId, inFlight }) => sql`
    with abandoned as materialized (
      select w.id as webhook_id, waiting.id from webhooks w
      cross join lateral (
        select d.id from deliveries d
        where d.workspace_id = ${workspaceId} and d.webhook_id = w.id and d.status = 'PENDING'
          and d.id <> all(${inFlight})
        order by d.created_at, d.id limit ${rowsPerStep}) waiting
      where w.workspace_id = ${workspaceId} and not w.enabled limit ${rowsPerStep})
    update deliveries d set status = 'FAILED',
      error = case when w.deleted_at is null then 'The webhook was disabled' else 'The webhook was deleted' end
    from webhooks w
    where w.workspace_id = d.workspace_id and w.id = d.webhook_id and not w.enabled
      and d.workspace_id = ${workspaceId} and d.webhook_id = any(array(select webhook_id from abandoned))
      and d.id = any(array(select id from abandoned)) and d.status = 'PENDING'`,
})

type EventRetention = Pick<Retention, 'eventsDays'>

/**
 * Marks deliveries that have been PENDING for the retention of events as FAILED, so that their partition can be
 * dropped. Skips deliveries that may be in flight. Processes the workspaces of up to `rowsPerStep` expired deliveries,
 * and returns the number of deliveries.
 */
export async function expireDeliveries(db: Db, { eventsDays }: EventRetention = defaultRetention): Promise<number> {
  // Takes no locks: `expireBacklog` locks the drain of one workspace at a time and selects its deliveries again.
  let expired = 0
  for (const { workspaceId } of await findExpired(db, { eventsDays })) {
    expired += await lockDrain(db, workspaceId, (db, inFlight) => {
      return expireBacklog(db, { workspaceId, inFlight, eventsDays })
    })
  }
  return expired
}

const findExpired = namedStatement('find expired deliveries', {
  params: { eventsDays: int },
  columns: { workspaceId: deliveries.workspaceId },
  sql: ({ eventsDays }) => sql`
    select distinct workspace_id from (
      select workspace_id from deliveries
      where status = 'PENDING' and created_at < now() - ${eventsDays} * interval '1 day' limit ${rowsPerStep}) old`,
})

const expireBacklog = namedStatement('expire deliveries', {
  params: { workspaceId: deliveries.workspaceId, inFlight: arrayOf(uuid), eventsDays: int },
  sql: ({ workspaceId, inFlight, eventsDays }) => sql`
    update deliveries set status = 'FAILED', error = 'expired'
    where workspace_id = ${workspaceId} and status = 'PENDING' and id in (
      select id from deliveries
      where workspace_id = ${workspaceId} and status = 'PENDING' and id <> all(${inFlight})
        and created_at < now() - ${eventsDays} * interval '1 day'
      order by webhook_id, created_at, id limit ${rowsPerStep})`,
})

/**
 * Deletes up to `rowsPerStep` expired deliveries in a partition that cannot be dropped yet, because it spans more than
 * a week. Returns their number.
 */
export async function purgeDeliveries(db: Db, { eventsDays }: EventRetention = defaultRetention): Promise<number> {
  const firstKeptId = uuidAt(Date.now() - (eventsDays + 7) * 86_400_000)
  // A separate query without locks, because it uses a range of ids: see `take-deliveries.ts`.
  const old = await findEnded(db, { firstKeptId })
  return purge(db, {
    workspaceIds: old.map(({ workspaceId }) => workspaceId),
    webhookIds: old.map(({ webhookId }) => webhookId),
    ids: old.map(({ id }) => id),
  })
}

const findEnded = namedStatement('find ended deliveries', {
  params: { firstKeptId: uuid },
  columns: { workspaceId: uuid, webhookId: uuid, id: uuid },
  sql: ({ firstKeptId }) => sql`
    select workspace_id, webhook_id, id from deliveries
    where id < ${firstKeptId} and status <> 'PENDING' limit ${rowsPerStep}`,
})

const purge = namedStatement('purge deliveries', {
  params: { workspaceIds: arrayOf(uuid), webhookIds: arrayOf(uuid), ids: arrayOf(uuid) },
  sql: ({ workspaceIds, webhookIds, ids }) => sql`
    delete from deliveries d
    using unnest(${workspaceIds}, ${webhookIds}, ${ids}) as old (workspace_id, webhook_id, id)
    where d.workspace_id = old.workspace_id and d.webhook_id = old.webhook_id and d.id = old.id`,
})
