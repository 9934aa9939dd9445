import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { limitConcurrency } from '../kernel/limit-concurrency.ts'
import type { Db } from './client.ts'
import { type Columns, type Row, selectList, toRow } from './raw-rows.ts'
import type { Replica } from './read-replica.ts'

export interface Snapshot<Selected extends Columns> {
  /** The next rows, none after the last. */
  readPage(): Promise<Row<Selected>[]>
  close(): void
}

/** Few enough that other requests are answered between two pages. */
const rowsPerPage = 100
/** Each holds a connection for as long as its reader takes. */
const runLimited = limitConcurrency(4, { maxWaiting: 0, message: 'Too many exports are running, try again later' })

/**
 * Reads `columns` of the rows that `source` ("from … where … order by …") names, all as of now, page by page at the pace
 * of the reader. Takes a connection until it is closed; a reader that reads no page for five minutes loses it.
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

/** Not one of the pool's, whose statements have twelve seconds for their answer. */
async function connectPrimary({ $client }: Db): Promise<pg.Client> {
  if (!($client instanceof pg.Pool)) throw new Error('A snapshot is read with the pool, not within a transaction')
  const client = new pg.Client({ ...$client.options, query_timeout: 0 })
  client.on('error', () => {})
  await client.connect()
  return client
}
