import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { limitConcurrency } from '../kernel/limit-concurrency.ts'
import type { Db } from './client.ts'
import { type Columns, type Row, selectList, toRow } from './raw-rows.ts'
import type { Replica } from './read-replica.ts'

export interface Snapshot<Selected extends Columns> {
  /** Returns the next rows; an empty page after the last row. */
  readPage(): Promise<Row<Selected>[]>
  close(): void
}

/** Small enough for other requests to run between two pages. */
const rowsPerPage = 100
/** Each snapshot uses a connection until it is closed. */
const runLimited = limitConcurrency(4, { maxWaiting: 0, message: 'Too many exports are running; try again later' })

/**
 * Opens a consistent snapshot of `columns` of the rows that `source` ("from … where … order by …") selects. The caller
 * reads it page by page. It uses a connection until it is closed, or until no page is read for five minutes.
 */
export function openSnapshot<Selected extends Columns>(
  from: { db: Db; replica?: Replica },
  columns: Selected,
  source: SQL,
): Promise<Snapshot<Selected>> {
  const opened = Promise.withResolvers<Snapshot<Selected>>()
  runLimited(async () => {
    const client = (await from.replica?.connect()) ?? (await connectPrimary(from.db))
    const closed = Promise.withResolvers<void>()
    client.once('end', closed.resolve)
    try {
      opened.resolve({ readPage: await declareCursor(client, columns, source), close: closed.resolve })
      await closed.promise
    } finally {
      client.end().catch(() => {})
    }
  }).catch(opened.reject)
  return opened.promise
}

async function declareCursor<Selected extends Columns>(client: pg.Client, columns: Selected, source: SQL) {
  const db = drizzle(client, { casing: 'snake_case' })
  await client.query(`begin isolation level repeatable read read only;
    set local statement_timeout = 0; set local idle_in_transaction_session_timeout = '5min';
    set local cursor_tuple_fraction = 1`)
  await db.execute(sql`declare snapshot no scroll cursor for select ${selectList(columns)} ${source}`)

  return async () => {
    const { rows } = await db.execute(sql`fetch ${sql.raw(String(rowsPerPage))} from snapshot`)
    return rows.map((row) => toRow(columns, row))
  }
}

/** Opens a separate connection: statements of the pool time out after 12 seconds. */
async function connectPrimary({ $client }: Db): Promise<pg.Client> {
  if (!($client instanceof pg.Pool)) throw new Error('A snapshot needs the pool; it cannot be opened in a transaction')
  const client = new pg.Client({ ...$client.options, query_timeout: 0 })
  client.on('error', () => {})
  await client.connect()
  return client
}
