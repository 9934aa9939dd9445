import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type { PgColumn } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { limitConcurrency } from '../kernel/concurrency/limit-concurrency.ts'
import type { Db } from './client.ts'
import { tryLockName } from './statements/advisory-locks.ts'
import { composedStatement } from './statements/named-statement.ts'
import type { ValuesOf } from './statements/sql-types.ts'

type Columns = Record<string, PgColumn>

export interface Snapshot<Selected extends Columns> {
  /** Returns the next rows; an empty page after the last row. */
  readPage(): Promise<ValuesOf<Selected>[]>
  close(): void
}

/**
 * Small enough for other requests to run between two pages: with 150 custom fields, 100 rows occupy the process for 10 ms,
 * and the other requests wait for several pages (p50 41 ms, with 25 rows 12 ms).
 */
const rowsPerPage = 25
/** In one process. Each snapshot uses a connection of its own until it is closed. */
export const maxSnapshots = 10
const runLimited = limitConcurrency(maxSnapshots, {
  maxWaiting: 0,
  message: 'Too many exports are running; try again later',
})

interface SnapshotOptions<Selected extends Columns> {
  columns: Selected
  /** Selects the rows: "from … where … order by …". */
  source: SQL
  /**
   * The snapshot takes the first of these advisory locks that is free, until it is closed. As the lock belongs to the
   * connection, it ends with the process.
   */
  locks: readonly string[]
}

/**
 * Opens a consistent snapshot, which the caller reads page by page. It uses a connection until it is closed, or until
 * no page is read for a minute. Returns undefined if there are locks and none of them is free.
 */
export function openSnapshot<Selected extends Columns>(
  from: { db: Db },
  options: SnapshotOptions<Selected>,
): Promise<Snapshot<Selected> | undefined> {
  const opened = Promise.withResolvers<Snapshot<Selected> | undefined>()
  runLimited(async () => {
    const client = await connect(from.db)
    const closed = Promise.withResolvers<void>()
    client.once('end', closed.resolve)
    try {
      const readPage = await declareCursor(client, options)
      opened.resolve(readPage && { readPage, close: closed.resolve })
      if (readPage) await closed.promise
    } finally {
      client.end().catch(() => {})
    }
  }).catch(opened.reject)
  return opened.promise
}

/** A page may take minutes: before the first one, PostgreSQL may sort all rows. */
const settings = `set local statement_timeout = '5min'; set local idle_in_transaction_session_timeout = '1min';
  set local cursor_tuple_fraction = 1`

async function declareCursor<Selected extends Columns>(
  client: pg.Client,
  { columns, source, locks }: SnapshotOptions<Selected>,
) {
  const db = drizzle(client, { casing: 'snake_case' })
  await client.query(`begin isolation level repeatable read read only; ${settings}`)
  if (locks.length > 0 && !(await takeFreeLock(client, locks))) return undefined
  const selected = sql.join(Object.values(columns), sql`, `)
  await db.execute(sql`declare snapshot no scroll cursor for select ${selected} ${source}`)

  const fetchRows = composedStatement('read a page of a snapshot', { columns })

  let isAtEnd = false
  return async () => {
    if (isAtEnd) return []
    const rows = await fetchRows(db, sql`fetch ${sql.raw(String(rowsPerPage))} from snapshot`)
    isAtEnd = rows.length < rowsPerPage
    // Releases the lock before the reader knows that it has read everything, and may open the next snapshot.
    if (isAtEnd) await client.query('commit')
    return rows
  }
}

/** Takes the lock in the transaction, because a connection pooler may share the session. */
async function takeFreeLock(client: pg.Client, locks: readonly string[]): Promise<boolean> {
  for (const lock of locks) {
    if (await tryLockName({ $client: client }, lock)) return true
  }
  return false
}

/** Opens a separate connection: statements of the pool time out after 12 seconds. */
async function connect({ $client }: Db): Promise<pg.Client> {
  if (!($client instanceof pg.Pool)) throw new Error('A snapshot needs the pool; it cannot be opened in a transaction')
  const client = new pg.Client({ ...$client.options, query_timeout: 0 })
  client.on('error', () => {})
  await client.connect()
  return client
}
