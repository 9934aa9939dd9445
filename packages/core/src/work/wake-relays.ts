/** Notifies the relays of all workers about new work. Only a hint: a relay that misses it finds the work by polling. */
import { sql } from 'drizzle-orm'
import { type Db, memoizePerDb } from '../db/client.ts'
import { afterCommit } from '../db/transaction.ts'
import { uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { microBatch } from '../kernel/concurrency/micro-batch.ts'
import { workChannel } from './queues.ts'

/** The subject of a notification: the workspace that has new deliveries, or new rows of `work`. */
export type NotificationSubject = { workspaceId: string } | 'work'

const workPayload = ''

/**
 * Sends notifications after the commit: inside a transaction, NOTIFY takes a lock that all commits of the database
 * share. Notifications of concurrent requests share a statement.
 */
const notifierOf = memoizePerDb((db: Db) =>
  microBatch(async (payloads: string[]) => {
    await db.execute(
      sql`select pg_notify(${workChannel}, payload) from unnest(${sql.param(payloads)}::text[]) as payload`,
    )
    return payloads
  }),
)

function notify(db: Db, payload: string): void {
  afterCommit(db, `notify ${payload}`, (pool) => {
    notifierOf(pool)(payload).catch(() => {})
  })
}

/** Notifies the relays of new or released work. */
export function wakeForWork(db: Db): void {
  notify(db, workPayload)
}

/** Notifies the relays that the workspace has new deliveries. */
export function publishDrain(db: Db, workspaceId: WorkspaceId): void {
  notify(db, uuidOf(workspaceId))
}

/** Parses a notification. */
export function parseNotification(payload: string): NotificationSubject {
  return payload === workPayload ? 'work' : { workspaceId: payload }
}
