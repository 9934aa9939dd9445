import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, int, uuid } from '../db/statements/sql-types.ts'
import { transaction } from '../db/transaction.ts'
import { defaultRetention, type Retention } from '../kernel/retention.ts'

const hasPendingDelivery = sql`exists (
  select from deliveries d where d.workspace_id = e.workspace_id and d.event_id = e.id and d.status = 'PENDING')`

/**
 * Deletes up to 500 expired events in partitions that span more than a week and cannot be dropped yet. Keeps events
 * with a PENDING delivery. Returns the number of deleted events.
 */
export async function purgeEvents(
  db: Db,
  { eventsDays }: Pick<Retention, 'eventsDays'> = defaultRetention,
): Promise<number> {
  const old = await findExpired(db, { days: eventsDays + 7 })
  let purged = 0
  for (const [workspaceId, rows] of Map.groupBy(old, ({ workspaceId }) => workspaceId)) {
    const ids = rows.map(({ id }) => id)
    purged += await transaction(db, (db) => deleteUnusedEvents(db, { workspaceId, ids }))
  }
  return purged
}

const findExpired = namedStatement('find expired events', {
  params: { days: int },
  columns: { workspaceId: uuid, id: uuid },
  sql: ({ days }) => sql`
    select workspace_id, id from events e
    where created_at < now() - ${days} * interval '1 day' and not ${hasPendingDelivery}
    order by created_at limit 500`,
})

async function deleteUnusedEvents(db: Db, events: { workspaceId: string; ids: string[] }): Promise<number> {
  const locked = await lockEvents(db, events)
  // Checked again: a delivery may have been added before the event was locked.
  return deleteLocked(db, { ...events, ids: locked.map(({ id }) => id) })
}

const lockEvents = namedStatement('lock events', {
  params: { workspaceId: uuid, ids: arrayOf(uuid) },
  columns: { id: uuid },
  sql: ({ workspaceId, ids }) => sql`
    select id from events where workspace_id = ${workspaceId} and id = any(${ids}) order by id for update skip locked`,
})

const deleteLocked = namedStatement('delete expired events', {
  params: { workspaceId: uuid, ids: arrayOf(uuid) },
  sql: ({ workspaceId, ids }) => sql`
    delete from events e where e.workspace_id = ${workspaceId} and e.id = any(${ids}) and not ${hasPendingDelivery}`,
})
