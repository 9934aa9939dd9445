import type { Readable } from 'node:stream'
import { type SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Db } from './client.ts'
import type { Replica } from './read-replica.ts'
import { AppError } from '../kernel/errors.ts'

/** Each holds a connection for as long as its reader takes. */
const mostAtOnce = 4
let open = 0

const dialect = new PgDialect({ casing: 'snake_case' })

/**
 * Streams the rows of a query as PostgreSQL keeps them (`COPY … TO STDOUT (FORMAT BINARY)`), by far the fastest way out,
 * at the pace at which they are read. Holds a connection and a snapshot until the stream ends or is destroyed; a reader
 * that stands still for five minutes loses them. Takes one of PostgreSQL's processors, and leaves the others to whoever
 * waits for an answer.
 */
export async function copyOut(from: { db: Db; replica?: Replica }, query: SQL): Promise<Readable> {
  // COPY takes no parameters: drizzle writes them into the text, quoted as the standard has it, which is therefore set.
  const { sql } = dialect.sqlToQuery(query.inlineParams())
  if (open >= mostAtOnce) throw new AppError('unavailable', 'Too many exports are running, try again later')
  open += 1
  let client: pg.Client | undefined
  try {
    client = (await from.replica?.connect()) ?? (await connectPrimary(from.db))
    const connected = client
    await client.query(`begin isolation level repeatable read read only;
      set local standard_conforming_strings = on; set local statement_timeout = 0;
      set local idle_in_transaction_session_timeout = '5min'; set local max_parallel_workers_per_gather = 0`)
    const stream = client.query(copyTo(`copy (${sql}) to stdout (format binary)`))
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      open -= 1
      connected.end().catch(() => {})
    }
    for (const event of ['end', 'error', 'close']) stream.once(event, release)
    return stream
  } catch (error) {
    open -= 1
    await client?.end().catch(() => {})
    throw error
  }
}

/** Not one of the pool's, whose statements have twelve seconds for their answer. */
async function connectPrimary(db: Db): Promise<pg.Client> {
  const client = new pg.Client({ ...poolOf(db).options, query_timeout: 0 })
  client.on('error', () => {})
  await client.connect()
  return client
}

function poolOf({ $client }: Db): pg.Pool {
  if ($client instanceof pg.Pool) return $client
  throw new Error('Rows can be copied out with the pool, not within a transaction')
}
