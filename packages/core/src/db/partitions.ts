/**
 * Maintains the weekly partitions of events and deliveries, so that expired rows are removed by DROP TABLE, at a cost
 * that does not depend on their number.
 *
 * The partition key is the id, which starts with the creation time. The first partition has no lower bound and the last
 * has no upper bound. Together they accept every id, so an insert always finds a partition: even after months without
 * maintenance, with a wrong clock, or after the restore of an old dump. Maintenance splits the last partition at the
 * start of a week, while it is still empty, and replaces the expired partitions by one empty partition.
 *
 * Locks and statements of maintenance time out after 500 ms, and the next hourly run tries again. The timeout is
 * shorter than PostgreSQL's `deadlock_timeout`, so maintenance never makes a request fail with a deadlock.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from './client.ts'
import { hasSqlState } from './database-errors.ts'
import { readDatabaseClock } from './database-facts.ts'
import { composedStatement, namedStatement } from './statements/named-statement.ts'
import { nullable, text, uuid } from './statements/sql-types.ts'
import { timeOfUuid, uuidAt } from '../kernel/ids.ts'
import { defaultRetention } from '../kernel/retention.ts'
import { transaction } from './transaction.ts'

const tables = ['events', 'deliveries'] as const
type Table = (typeof tables)[number]

/** The name contains the start of the partition. The bounds are UUIDs; null means no bound. */
interface Partition {
  name: string
  from: string | null
  until: string | null
}

const dayMs = 86_400_000
const weekMs = 7 * dayMs
const timeoutMs = 500
/** SQLSTATEs of timeouts, and of errors that occur if a concurrent run has created or dropped the same partition. */
const contentionStates = ['55P03', '57014', '42P01', '42P07', '42P17']

export interface PartitionChanges {
  added: string[]
  dropped: string[]
  /** Tables that were in use, so that their partitions were not changed: a later run tries again. */
  lockedTables: string[]
}

/**
 * Creates the partitions of the coming weeks and drops expired ones. Idempotent; safe to run concurrently. With
 * `shouldValidateFirst` it also splits a last partition whose rows cannot be scanned within 500 ms.
 */
export async function maintainPartitions(
  db: Db,
  { now, shouldValidateFirst = false, lifetimeDays = defaultRetention.eventsDays }: MaintenanceOptions = {},
): Promise<PartitionChanges> {
  const options = { nowMs: now?.getTime() ?? (await readDatabaseClock(db)), shouldValidateFirst }
  const { nowMs } = options
  const changes: PartitionChanges = { added: [], dropped: [], lockedTables: [] }
  for (const table of tables) {
    try {
      for (let name = await splitLast(db, table, options); name; name = await splitLast(db, table, options))
        changes.added.push(name)
      changes.dropped.push(...(await dropOldPartitions(db, table, nowMs - lifetimeDays * dayMs)))
    } catch (error) {
      if (!hasSqlState(error, contentionStates)) throw error
      changes.lockedTables.push(table)
    }
  }
  return changes
}

interface MaintenanceOptions {
  now?: Date
  shouldValidateFirst?: boolean
  /** How long events are kept. */
  lifetimeDays?: number
}

/**
 * Runs `maintainPartitions` for a migration, with up to ten attempts while the tables are in use. Drops nothing: only
 * workers have the retention in their configuration.
 */
export async function maintainPartitionsWithRetries(db: Db): Promise<void> {
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const { lockedTables } = await maintainPartitions(db, { shouldValidateFirst: true, lifetimeDays: Infinity })
    if (lockedTables.length === 0) return
    await sleep(timeoutMs)
  }
}

/** Returns the seconds until new rows reach the last partition; negative if they already do. */
export async function readSecondsAhead(db: Db): Promise<number> {
  const nowMs = await readDatabaseClock(db)
  const ahead = await Promise.all(
    tables.map(async (table) => {
      const last = (await readPartitions(db, table)).find(({ until }) => until === null)
      return (last?.from ? timeOfUuid(last.from) : 0) - nowMs
    }),
  )
  return Math.min(...ahead) / 1_000
}

// ── Split the last partition ────────────────────────────────────────────────────────────────────────────────────────

/**
 * Splits the last partition at the start of a week, unless it starts more than a week from now. Returns the name of the
 * new last partition. Does nothing if a row is beyond the split: it was written with a clock that was far ahead, and is
 * purged later.
 */
async function splitLast(
  db: Db,
  table: Table,
  { nowMs, shouldValidateFirst }: { nowMs: number; shouldValidateFirst: boolean },
): Promise<string | undefined> {
  const last = (await readPartitions(db, table)).find((partition) => partition.until === null)
  if (!last || (last.from !== null && timeOfUuid(last.from) > nowMs + weekMs)) return undefined
  const until = uuidAt(startOfNextWeek(Math.max(nowMs + weekMs, last.from === null ? 0 : timeOfUuid(last.from))))
  const [greatest] = await findGreatest(db, sql`select id from ${identifierOf(last)} order by id desc limit 1`)
  if (greatest && greatest.id >= until) return undefined
  const isSplit = await (greatest ? splitFilledPartition : splitEmptyPartition)(db, table, {
    last,
    until,
    shouldValidateFirst,
  })
  return isSplit ? partitionName(table, until) : undefined
}

interface Split {
  last: Partition
  until: string
  shouldValidateFirst: boolean
}

function splitEmptyPartition(db: Db, table: Table, { last, until }: Split): Promise<boolean> {
  return withExclusiveLock(db, [table], async (db) => {
    if (!(await areUnchanged(db, table, [last])) || !(await isEmpty(db, last))) return false
    await db.execute(sql`drop table ${identifierOf(last)}`)
    await createPartition(db, table, { ...last, until })
    await createPartition(db, table, { name: partitionName(table, until), from: until, until: null })
    return true
  })
}

/**
 * Splits a last partition that has rows, after maintenance has not run for a while. ATTACH PARTITION scans all rows
 * under the lock, unless a validated CHECK constraint implies the bounds. Only a migration adds that constraint: the
 * validation takes long, and a constraint that is left behind would reject later rows.
 */
async function splitFilledPartition(
  db: Db,
  table: Table,
  { last, until, shouldValidateFirst }: Split,
): Promise<boolean> {
  const [parent, partition] = [sql.identifier(table), identifierOf(last)]
  const dropCheck = sql`alter table ${partition} drop constraint if exists split_check`
  try {
    if (shouldValidateFirst) {
      await withExclusiveLock(db, [last.name], async (db) => {
        await db.execute(dropCheck)
        const check = sql`check (id < ${literal(until)}) not valid`
        await db.execute(sql`alter table ${partition} add constraint split_check ${check}`)
      })
      await db.execute(sql`alter table ${partition} validate constraint split_check`)
    }
    // DETACH and ATTACH also lock the tables that the foreign keys reference.
    return await withExclusiveLock(db, ['workspaces', 'webhooks', table], async (db) => {
      if (!(await areUnchanged(db, table, [last]))) return false
      await db.execute(sql`alter table ${parent} detach partition ${partition}`)
      await db.execute(sql`alter table ${parent} attach partition ${partition} ${toBoundsClause({ ...last, until })}`)
      await db.execute(dropCheck)
      await createPartition(db, table, { name: partitionName(table, until), from: until, until: null })
      return true
    })
  } catch (error) {
    // Otherwise the constraint would reject rows that belong to the next partition.
    await withExclusiveLock(db, [last.name], (db) => db.execute(dropCheck))
    throw error
  }
}

// ── Drop expired partitions ─────────────────────────────────────────────────────────────────────────────────────────

/** Drops expired partitions and returns their names. Drops none while any of their rows is needed. */
async function dropOldPartitions(db: Db, table: Table, since: number): Promise<string[]> {
  const old = (await readPartitions(db, table)).filter(({ until }) => until !== null && timeOfUuid(until) <= since)
  const [first, last] = [old[0], old.at(-1)]
  if (first?.from !== null || !last?.until || (first === last && (await isEmpty(db, first)))) return []
  const { until } = last
  // Checked again under the lock; the first check avoids locking without need.
  const selectNeeded = neededRows[table]({ until, since: new Date(since) })
  if (await hasRow(db, selectNeeded)) return []
  const isDropped = await withExclusiveLock(db, [table], async (db) => {
    if (!(await areUnchanged(db, table, old)) || (await hasRow(db, selectNeeded))) return false
    for (const partition of old) await db.execute(sql`drop table ${identifierOf(partition)}`)
    await createPartition(db, table, { name: partitionName(table, null), from: null, until })
    return true
  })
  return isDropped ? old.map(({ name }) => name) : []
}

/**
 * PENDING deliveries and their events are needed. A statement that adds a delivery for an existing event reads the
 * event, so it holds a lock on the table until the delivery is visible. An event is also needed if its `created_at` is
 * much later than the time in its id: a clock was far behind.
 */
const neededRows: Record<Table, (old: { until: string; since: Date }) => SQL[]> = {
  events: ({ until, since }) => [
    sql`select from events where id < ${literal(until)} and created_at > ${since.toISOString()}::timestamptz limit 1`,
    sql`select from deliveries where status = 'PENDING' and event_id < ${literal(until)} limit 1`,
  ],
  deliveries: ({ until }) => [sql`select from deliveries where status = 'PENDING' and id < ${literal(until)} limit 1`],
}

// ── Helpers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Runs `work` in a transaction that locks the tables exclusively. Throws if the lock or a statement times out. */
function withExclusiveLock<Result>(
  db: Db,
  locked: readonly string[],
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  const names = locked.map((name) => sql`only ${sql.identifier(name)}`)
  return transaction(db, async (db) => {
    await db.execute(sql`select set_config(name, ${String(timeoutMs)}, true)
      from unnest(array['lock_timeout', 'statement_timeout']) as name`)
    await db.execute(sql`lock table ${sql.join(names, sql`, `)} in access exclusive mode`)
    return work(db)
  })
}

/** Returns the partitions in the order of their bounds, without a partition that is being dropped concurrently. */
function readPartitions(db: Db, table: Table): Promise<Partition[]> {
  return selectPartitions(db, { table })
}

const selectPartitions = namedStatement('list partitions', {
  params: { table: text },
  columns: { name: text, from: nullable(text), until: nullable(text) },
  sql: ({ table }) => sql`
    select c.relname::text as name, substring(bound from $$FROM [(]'([^']+)'[)]$$) as "from",
      substring(bound from $$TO [(]'([^']+)'[)]$$) as until
    from pg_inherits i join pg_class c on c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) as bound
    where i.inhparent = ${table}::regclass and bound is not null order by 2 nulls first`,
})

/** Whether no concurrent run has changed these partitions. */
async function areUnchanged(db: Db, table: Table, partitions: readonly Partition[]): Promise<boolean> {
  const present = new Set((await readPartitions(db, table)).map(toKey))
  return partitions.every((partition) => present.has(toKey(partition)))
}

const toKey = ({ name, from, until }: Partition) => [name, from, until].join()

async function createPartition(db: Db, table: Table, partition: Partition): Promise<void> {
  await db.execute(
    sql`create table ${identifierOf(partition)} partition of ${sql.identifier(table)} ${toBoundsClause(partition)}`,
  )
}

const identifierOf = ({ name }: Partition) => sql.identifier(name)
const partitionName = (table: Table, from: string | null) =>
  `${table}_${from === null ? 'past' : new Date(timeOfUuid(from)).toISOString().slice(0, 10).replaceAll('-', '')}`

/** Partition bounds cannot be query parameters. */
const literal = (uuid: string) => sql.raw(`'${uuid}'`)
const toBoundsClause = ({ from, until }: Partition) =>
  sql`for values from (${from === null ? sql`minvalue` : literal(from)}) to (${until === null ? sql`maxvalue` : literal(until)})`

const isEmpty = async (db: Db, partition: Partition) =>
  !(await hasRow(db, [sql`select from ${identifierOf(partition)} limit 1`]))

/** Whether one of the queries returns a row. */
async function hasRow(db: Db, queries: readonly SQL[]): Promise<boolean> {
  for (const query of queries) if ((await findRow(db, query)).length > 0) return true
  return false
}

const findGreatest = composedStatement('find the greatest id', { columns: { id: uuid } })
const findRow = composedStatement('find a row', { columns: {} })

/** The start of the next week: Monday, 00:00 UTC. 1970-01-01 was a Thursday. */
const startOfNextWeek = (ms: number) => (Math.floor((ms - 4 * dayMs) / weekMs) + 1) * weekMs + 4 * dayMs
