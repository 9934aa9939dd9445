/** Facts about the PostgreSQL server, for operators. */
import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'
import { namedStatement } from './statements/named-statement.ts'
import { bool, float, int, json, nullable, text } from './statements/sql-types.ts'

export interface DatabaseFacts {
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
  const [facts] = await selectFacts(db)
  if (!facts) throw new Error('PostgreSQL returned no row')
  return facts
}

const selectFacts = namedStatement('read database facts', {
  columns: {
    version: text,
    encoding: text,
    isStandby: bool,
    isReadOnly: bool,
    switches: json<Record<string, string>>(),
    extensions: json<string[]>(),
    maxConnections: int,
    connections: int,
  },
  sql: () => sql`
    select current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_standby,
      current_setting('default_transaction_read_only')::bool as is_read_only,
      (select json_object_agg(name, setting) from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'DateStyle')) as switches,
      (select coalesce(json_agg(extname), '[]') from pg_extension) as extensions,
      least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true), '0')::int,
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user))::int as max_connections,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections`,
})

/** Where the server keeps its data. */
export interface DataDirectory {
  /** Null if the role may not read it. */
  path: string | null
  /** The address that the connection leads to, as the server sees it; null for a Unix socket. */
  serverAddress: string | null
}

export async function readDataDirectory(db: Db): Promise<DataDirectory> {
  const [directory] = await selectDataDirectory(db)
  return directory ?? { path: null, serverAddress: null }
}

const selectDataDirectory = namedStatement('read the data directory', {
  columns: { path: nullable(text), serverAddress: nullable(text) },
  sql: () => sql`
    select case when pg_has_role(current_user, 'pg_read_all_settings', 'member')
        then current_setting('data_directory') end as path,
      host(inet_server_addr()) as server_address`,
})

/** Reads the clock of the server, in milliseconds since 1970. */
export async function readDatabaseClock(db: Db): Promise<number> {
  const [clock] = await readClock(db)
  return clock?.now ?? NaN
}

const readClock = namedStatement('read the clock', {
  columns: { now: float },
  sql: () => sql`select extract(epoch from clock_timestamp())::float8 * 1000 as now`,
})
