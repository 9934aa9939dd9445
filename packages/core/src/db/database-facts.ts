/** Facts about the PostgreSQL server, for operators. */
import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'

export interface DatabaseFacts extends Record<string, unknown> {
  version: string
  encoding: string
  isStandby: boolean
  isReadOnly: boolean
  /** Boolean settings by name. */
  switches: Record<string, string>
  extensions: string[]
  /** How many connections the server, the database and the role allow. */
  maxConnections: number
  connections: number
}

/** Reads all facts in one round trip. */
export async function readDatabaseFacts(db: Db): Promise<DatabaseFacts> {
  const result = await db.execute<DatabaseFacts>(sql`
    select current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as "isStandby",
      current_setting('default_transaction_read_only')::bool as "isReadOnly",
      (select json_object_agg(name, setting) from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum')) as switches,
      (select coalesce(json_agg(extname), '[]') from pg_extension) as extensions,
      least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true), '0')::int,
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user))::int as "maxConnections",
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections`)
  const [facts] = result.rows
  if (!facts) throw new Error('PostgreSQL returned no row')
  return facts
}

/** Where the server keeps its data. */
export interface DataDirectory extends Record<string, unknown> {
  /** Null if the role may not read it. */
  path: string | null
  /** The address that the connection leads to, as the server sees it; null for a Unix socket. */
  serverAddress: string | null
}

export async function readDataDirectory(db: Db): Promise<DataDirectory> {
  const result = await db.execute<DataDirectory>(sql`
    select case when pg_has_role(current_user, 'pg_read_all_settings', 'member')
        then current_setting('data_directory') end as path,
      host(inet_server_addr()) as "serverAddress"`)
  return result.rows[0] ?? { path: null, serverAddress: null }
}

/** Reads the clock of the server, in milliseconds since 1970. */
export async function readDatabaseClock(db: Db): Promise<number> {
  const result = await db.execute<{ now: string }>(sql`select extract(epoch from clock_timestamp()) * 1000 as now`)
  return Number(result.rows[0]?.now)
}
