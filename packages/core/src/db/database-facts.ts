/** Facts about the PostgreSQL server, for operators. */
import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'
import { namedStatement } from './statements/named-statement.ts'
import { bool, float, int, json, nullable, text } from './statements/sql-types.ts'

export interface DatabaseFacts {
  version: string
  encoding: string
  collation: Collation
  isStandby: boolean
  isReadOnly: boolean
  /** Settings of this connection by name. */
  switches: Record<string, string>
  /** What the database or the role sets for every connection that does not say otherwise: `TimeZone=Europe/Berlin`. */
  defaults: string[]
  extensions: string[]
  /** How many connections the server, the database and the role allow. */
  maxConnections: number
  connections: number
}

export interface Collation {
  name: string
  /** False with a Turkish collation, which has a dotless i: `lower(email)` then takes `INFO@` and `info@` for two addresses. */
  lowersAscii: boolean
  /** False with the collation C. */
  lowersOthers: boolean
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
    collation: json<Collation>(),
    isStandby: bool,
    isReadOnly: bool,
    switches: json<Record<string, string>>(),
    defaults: json<string[]>(),
    extensions: json<string[]>(),
    maxConnections: int,
    connections: int,
  },
  sql: () => sql`
    select current_setting('server_version') as version,
      current_setting('server_encoding') as encoding,
      (select json_build_object(
          'name', coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', d.datcollate),
          'lowersAscii', lower('I' collate "default") = 'i', 'lowersOthers', lower('Д' collate "default") = 'д')
        from pg_database d where datname = current_database()) as collation,
      pg_is_in_recovery() as is_standby,
      current_setting('default_transaction_read_only')::bool as is_read_only,
      (select json_object_agg(name, setting) from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum',
          'DateStyle', 'IntervalStyle', 'TimeZone')) as switches,
      (select coalesce(json_agg(distinct setting), '[]')
        from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase or s.setdatabase = 0
          cross join unnest(s.setconfig) as setting
        where d.datname = current_database()
          and s.setrole in (0, (select oid from pg_roles where rolname = current_user))
          and setting ~* '^(DateStyle|IntervalStyle|TimeZone)=') as defaults,
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
