import { and, eq, gt, inArray, isNotNull, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from './context.ts'
import type { Db } from './db.ts'
import { uuidOf } from './ids.ts'
import { outboxChannel, type WorkJob, type QueueName } from './queues.ts'
import { outbox } from './schema.ts'

/** Puts work on a queue, in the caller's transaction: it exists if, and only if, that commits. `id` is its subject's. */
export async function enqueue(ctx: Ctx, queue: QueueName, id: string): Promise<void> {
  await ctx.db.execute(sql`
    with ready as (select ${uuidOf(id)}::uuid as id), ${enqueueEach(ctx, queue, 'ready')}
    select from woken`)
}

/**
 * The same for a whole set, as two members of a `with` list: every `id` of the earlier member `source` goes on the queue.
 * The main query must read `woken`, as PostgreSQL does not run a SELECT that nobody reads.
 */
export function enqueueEach(ctx: Ctx, queue: QueueName, source: string): SQL {
  return sql`
    enqueued as (
      insert into outbox (id, workspace_id, queue)
      select id, ${uuidOf(ctx.workspaceId)}::uuid, ${queue} from ${sql.identifier(source)}
      returning id),
    woken as (select pg_notify(${outboxChannel}, '') from enqueued limit 1)`
}

/** The work is done and its outcome recorded, in the same transaction. UUIDs, as a job carries them. */
export async function finishWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db.delete(outbox).where(inArray(outbox.id, [...uuids]))
}

/** Hands work that a dead worker left behind to the relay again. */
export async function requeueWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db
    .update(outbox)
    .set({ relayedEpoch: null })
    .where(inArray(outbox.id, [...uuids]))
  await db.execute(sql`select pg_notify(${outboxChannel}, '')`)
}

/** Work on its way to the queue. `jobId` is a fresh one each time, as a queue ignores an id that it still knows. */
export interface RelayedWork {
  queue: QueueName
  jobId: string
  data: WorkJob
}

const relayBatchSize = 500

/**
 * Hands work that waits in the outbox over to the queue, some hundred pieces in one transaction; several relays share
 * it without overlap. `epoch` names the present life of the queue's store: what was handed over in another life counts
 * as not handed over, so that a store which lost its data is given everything again. Answers how many pieces went.
 */
export function relayWork(db: Db, epoch: string, handOver: (work: RelayedWork[]) => Promise<void>): Promise<number> {
  return db.transaction(async (db) => {
    const rows = await db
      .select({ id: outbox.id, workspaceId: outbox.workspaceId, queue: outbox.queue, relays: outbox.relays })
      .from(outbox)
      .where(isNull(outbox.relayedEpoch))
      .orderBy(outbox.createdAt)
      .limit(relayBatchSize)
      .for('update', { skipLocked: true })
    if (rows.length === 0) return 0
    await handOver(rows.map((row) => toWork({ ...row, relays: row.relays + 1 })))
    await db
      .update(outbox)
      .set({ relayedEpoch: epoch, relayedAt: sql`now()`, relays: sql`${outbox.relays} + 1` })
      .where(
        inArray(
          outbox.id,
          rows.map((row) => row.id),
        ),
      )
    return rows.length
  })
}

/** Puts back into waiting what was handed over in another life of the queue's store. */
export async function forgetOtherEpochs(db: Db, epoch: string): Promise<void> {
  // Two ranges, where `<>` would read the whole index.
  await db
    .update(outbox)
    .set({ relayedEpoch: null })
    .where(or(lt(outbox.relayedEpoch, epoch), gt(outbox.relayedEpoch, epoch)))
}

/**
 * The backstop: work handed over more than ten minutes ago and not done. What the queue no longer knows goes back into
 * waiting; of the rest it is asked again in ten minutes.
 */
export async function recheckOldWork(db: Db, isKnown: (work: RelayedWork) => Promise<boolean>): Promise<void> {
  const rows = await db
    .select({ id: outbox.id, workspaceId: outbox.workspaceId, queue: outbox.queue, relays: outbox.relays })
    .from(outbox)
    .where(and(isNotNull(outbox.relayedEpoch), lt(outbox.relayedAt, sql`now() - interval '10 minutes'`)))
    .limit(relayBatchSize)
  for (const row of rows) {
    const known = await isKnown(toWork(row))
    await db
      .update(outbox)
      .set(known ? { relayedAt: sql`now()` } : { relayedEpoch: null })
      .where(and(eq(outbox.id, row.id), eq(outbox.relays, row.relays)))
  }
}

function toWork(row: Pick<typeof outbox.$inferSelect, 'id' | 'workspaceId' | 'queue' | 'relays'>): RelayedWork {
  return {
    queue: row.queue as QueueName,
    jobId: `${row.id}-${row.relays}`,
    data: { workspaceId: row.workspaceId, id: row.id },
  }
}
