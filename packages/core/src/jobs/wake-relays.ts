/** Wakes the relays of all workers when there is work. A hint: a relay that misses it finds the work by its poll. */
import { sql } from 'drizzle-orm'
import { type Db, memoizePerDb } from '../db/client.ts'
import { afterCommit } from '../db/transaction.ts'
import { uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import { workChannel } from './queues.ts'

/** What a relay is notified of: a webhook that has new deliveries, or rows of the outbox. */
export type Wake = { workspaceId: string; webhookId: string } | 'outbox'

const outboxPayload = ''

/**
 * After the commit and not inside the transaction, where NOTIFY takes a lock that every commit of the database waits for.
 * The notifications of requests that arrive together share a statement.
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

/** There are new rows in the outbox, or released ones. */
export function wakeForOutbox(db: Db): void {
  notify(db, outboxPayload)
}

/** These webhooks have new deliveries. UUIDs, as statements return them. */
export function wakeForWebhooks(db: Db, workspaceId: WorkspaceId, webhookUuids: Iterable<string>): void {
  for (const webhookUuid of new Set(webhookUuids)) notify(db, `${uuidOf(workspaceId)} ${webhookUuid}`)
}

/** Reads a notification. APIs of the release before send an empty payload for deliveries too. */
export function readWake(payload: string): Wake {
  const [workspaceId, webhookId] = payload.split(' ')
  return workspaceId && webhookId ? { workspaceId, webhookId } : 'outbox'
}
