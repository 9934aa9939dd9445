/**
 * Events and deliveries lie in partitions of a week each, so that what is past its time goes by DROP, however much it is.
 *
 * An id begins with the time it was made at, and tells the partition. Together they take every id that there can be: the
 * first has no lower bound, the last no upper one. So nothing is ever written that has no place, though the upkeep stood
 * still for months, a clock is wrong or a dump of last year was restored. Upkeep only moves bounds: it cuts the last, which
 * is empty when that is done in time, where a week begins; and it drops the oldest, with an empty one in their place.
 *
 * Nobody waits long for it. What locks a table gives up after half a second, waiting included, and is tried again an hour
 * later: sooner than PostgreSQL looks for a deadlock, so that no request can be the one to end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from './client.ts'
import { hasSqlState } from '../kernel/errors.ts'
import { timeOfUuid, uuidAt } from '../kernel/ids.ts'
import { transaction } from './transaction.ts'

/** For how long what happened can be read, and delivered again; then its partition is dropped, within a week. */
export const eventLifetimeDays = 30

const tables = ['events', 'deliveries'] as const
type Table = (typeof tables)[number]

/** Named by where it begins. Its bounds are UUIDs, null where it has none. */
interface Partition {
  name: string
  from: string | null
  until: string | null
}

const dayMs = 86_400_000
const weekMs = 7 * dayMs
const timeoutMs = 500
/** A lock or a statement took too long; or another upkeep was quicker, and what was seen is no more, or is there already. */
const contentionStates = ['55P03', '57014', '42P01', '42P07', '42P17']

export interface PartitionChanges {
  added: string[]
  dropped: string[]
  /** Tables that others were at: to be tried again. */
  heldUp: string[]
}

/**
 * Cuts where the next weeks begin, and drops what is past its time. Harmless to repeat, and in two places at once. Who
 * `isPatient` also cuts a last partition that has more rows than can be looked through in half a second.
 */
export async function maintainPartitions(
  db: Db,
  { now, shouldValidateFirst = false }: MaintenanceOptions = {},
): Promise<PartitionChanges> {
  const terms = { nowMs: now?.getTime() ?? (await readClockMs(db)), shouldValidateFirst }
  const { nowMs } = terms
  const changes: PartitionChanges = { added: [], dropped: [], heldUp: [] }
  for (const table of tables) {
    try {
      for (
        let name = await splitLastPartition(db, table, terms);
        name;
        name = await splitLastPartition(db, table, terms)
      )
        changes.added.push(name)
      changes.dropped.push(...(await dropOldPartitions(db, table, nowMs)))
    } catch (error) {
      if (!hasSqlState(error, contentionStates)) throw error
      changes.heldUp.push(table)
    }
  }
  return changes
}

interface MaintenanceOptions {
  now?: Date
  shouldValidateFirst?: boolean
}

/** The same where a migration has just made the tables partitioned: held up, it tries for some seconds more. */
export async function maintainPartitionsWithRetries(db: Db): Promise<void> {
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const { heldUp } = await maintainPartitions(db, { shouldValidateFirst: true })
    if (heldUp.length === 0) return
    await sleep(timeoutMs)
  }
}

/** For how long to come there are partitions: less than nothing when rows already go to the last. In seconds. */
export async function readSecondsAhead(db: Db): Promise<number> {
  const nowMs = await readClockMs(db)
  const ahead = await Promise.all(
    tables.map(async (table) => {
      const last = (await readPartitions(db, table)).find(({ until }) => until === null)
      return (last?.from ? timeOfUuid(last.from) : 0) - nowMs
    }),
  )
  return Math.min(...ahead) / 1_000
}

// ── Weeks to come ───────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Cuts the last partition where a week begins, unless it begins more than a week from now already. Answers the name of
 * the new last. One that has rows beyond the cut stays whole: a clock was far ahead, and `purgeEvents` will take them.
 */
async function splitLastPartition(
  db: Db,
  table: Table,
  { nowMs, shouldValidateFirst }: { nowMs: number; shouldValidateFirst: boolean },
): Promise<string | undefined> {
  const last = (await readPartitions(db, table)).find((partition) => partition.until === null)
  if (!last || (last.from !== null && timeOfUuid(last.from) > nowMs + weekMs)) return undefined
  const until = uuidAt(startOfNextWeek(Math.max(nowMs + weekMs, last.from === null ? 0 : timeOfUuid(last.from))))
  const [greatest] = await readRows<{ id: string }>(
    db,
    sql`select id from ${identifierOf(last)} order by id desc limit 1`,
  )
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
    if (!(await isUnchanged(db, table, [last])) || !(await isEmpty(db, last))) return false
    await db.execute(sql`drop table ${identifierOf(last)}`)
    await createPartition(db, table, { ...last, until })
    await createPartition(db, table, { name: partitionName(table, until), from: until, until: null })
    return true
  })
}

/**
 * Upkeep stood still, or never was. PostgreSQL looks through all rows under the lock, unless a constraint that they have
 * passed before says the same: that is for a migration, as it takes its time, and must not be left behind by a death.
 */
async function splitFilledPartition(
  db: Db,
  table: Table,
  { last, until, shouldValidateFirst }: Split,
): Promise<boolean> {
  const [parent, partition] = [sql.identifier(table), identifierOf(last)]
  const dropCheck = sql`alter table ${partition} drop constraint if exists cut_check`
  try {
    if (shouldValidateFirst) {
      const check = sql`add constraint cut_check check (id < ${literal(until)}) not valid`
      await withExclusiveLock(db, [last.name], (db) => db.execute(sql`${dropCheck}, ${check}`))
      await db.execute(sql`alter table ${partition} validate constraint cut_check`)
    }
    // To take it off and on again touches the tables that it refers to.
    return await withExclusiveLock(db, ['workspaces', 'webhooks', table], async (db) => {
      if (!(await isUnchanged(db, table, [last]))) return false
      await db.execute(sql`alter table ${parent} detach partition ${partition}`)
      await db.execute(sql`alter table ${parent} attach partition ${partition} ${toBoundsClause({ ...last, until })}`)
      await db.execute(dropCheck)
      await createPartition(db, table, { name: partitionName(table, until), from: until, until: null })
      return true
    })
  } catch (error) {
    // It would refuse, one day, what has its place in the next.
    await withExclusiveLock(db, [last.name], (db) => db.execute(dropCheck))
    throw error
  }
}

// ── Weeks that are over ─────────────────────────────────────────────────────────────────────────────────────────────

/** Drops the partitions that are past their time. While anything in them is needed, all of them stay. Answers which. */
async function dropOldPartitions(db: Db, table: Table, nowMs: number): Promise<string[]> {
  const since = nowMs - eventLifetimeDays * dayMs
  const old = (await readPartitions(db, table)).filter(({ until }) => until !== null && timeOfUuid(until) <= since)
  const [first, last] = [old[0], old.at(-1)]
  if (first?.from !== null || !last?.until || (first === last && (await isEmpty(db, first)))) return []
  const { until } = last
  // Twice: under the lock it must be certain, and should not be asked in vain.
  const isNeeded = neededConditions[table]({ until, since: new Date(since) })
  if (await isTrue(db, isNeeded)) return []
  const isDropped = await withExclusiveLock(db, [table], async (db) => {
    if (!(await isUnchanged(db, table, old)) || (await isTrue(db, isNeeded))) return false
    for (const partition of old) await db.execute(sql`drop table ${identifierOf(partition)}`)
    await createPartition(db, table, { name: partitionName(table, null), from: null, until })
    return true
  })
  return isDropped ? old.map(({ name }) => name) : []
}

/**
 * PENDING deliveries are needed, with their events. A statement that adds such a delivery has read its event, so it has a
 * lock on the table until the delivery can be seen. An event whose id is older than itself is of a clock that was far behind.
 */
const neededConditions: Record<Table, (old: { until: string; since: Date }) => SQL> = {
  events: ({ until, since }) => sql`
    exists (select from events where id < ${literal(until)} and created_at > ${since.toISOString()}::timestamptz) or
    exists (select from deliveries where status = 'PENDING' and event_id < ${literal(until)})`,
  deliveries: ({ until }) => sql`exists (select from deliveries where status = 'PENDING' and id < ${literal(until)})`,
}

// ── What both are made of ───────────────────────────────────────────────────────────────────────────────────────────

/** In a transaction that holds the tables for itself; throws when it, or any statement in it, takes too long. */
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

/** In their order. One that somebody drops at this moment is left out, as its bounds cannot be told any more. */
function readPartitions(db: Db, table: Table): Promise<Partition[]> {
  return readRows<Partition>(
    db,
    sql`select c.relname as name, substring(bound from $$FROM [(]'([^']+)'[)]$$) as "from",
        substring(bound from $$TO [(]'([^']+)'[)]$$) as until
      from pg_inherits i join pg_class c on c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) as bound
      where i.inhparent = ${table}::regclass and bound is not null order by 2 nulls first`,
  )
}

/** Whether nobody else has done it meanwhile. */
async function isUnchanged(db: Db, table: Table, partitions: readonly Partition[]): Promise<boolean> {
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

/** Bounds cannot be parameters. */
const literal = (uuid: string) => sql.raw(`'${uuid}'`)
const toBoundsClause = ({ from, until }: Partition) =>
  sql`for values from (${from === null ? sql`minvalue` : literal(from)}) to (${until === null ? sql`maxvalue` : literal(until)})`

const isEmpty = (db: Db, partition: Partition) => isTrue(db, sql`not exists (select from ${identifierOf(partition)})`)

async function isTrue(db: Db, condition: SQL): Promise<boolean> {
  const [row] = await readRows<{ holds: boolean }>(db, sql`select ${condition} as holds`)
  return row?.holds ?? false
}

async function readClockMs(db: Db): Promise<number> {
  const [row] = await readRows<{ ms: string }>(db, sql`select extract(epoch from now()) * 1000 as ms`)
  return Number(row?.ms)
}

async function readRows<Row>(db: Db, query: SQL): Promise<Row[]> {
  return (await db.execute(query)).rows as Row[]
}

/** When the next week begins, on Monday in UTC. 1970 began on a Thursday. */
const startOfNextWeek = (ms: number) => (Math.floor((ms - 4 * dayMs) / weekMs) + 1) * weekMs + 4 * dayMs
