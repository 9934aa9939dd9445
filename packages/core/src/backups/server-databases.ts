/** Creates, names and drops the databases of a server, for restores. */
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { namedStatement } from '../db/statements/named-statement.ts'
import { bool, int, nullable, text } from '../db/statements/sql-types.ts'
import { isBehindPooler } from '../db/client.ts'
import { hasSqlState } from '../db/database-errors.ts'
import { conflict } from '../kernel/errors.ts'
import { databaseOf, failWith, openConnection, urlOfDatabase, withConnection } from './connection.ts'

export interface DatabaseServer {
  readonly majorVersion: number
  /** As PostgreSQL shows it: "18.4". */
  readonly version: string
  /** A pooler has no sessions, which a restore needs. */
  readonly isBehindPooler: boolean
  /** Prevents a second restore into the database, until the connection ends. Throws `request_in_progress`. */
  lock(name: string): Promise<void>
  inspect(name: string): Promise<DatabaseState>
  /**
   * Creates a database for a restore, with the encoding and locale of an empty one, or with these options of CREATE
   * DATABASE. Replaces one that an interrupted restore left behind.
   */
  create(name: string, like: { database: string } | { options: string }): Promise<void>
  /**
   * Gives a restored database its name, in one transaction: a database that has this name is renamed to `replaced`. Fails
   * without a change if one of them is in use.
   */
  nameRestored(restored: string, name: string, replaced: string | null): Promise<void>
  /** Drops an empty database. Fails if it is in use. */
  drop(name: string): Promise<void>
  /** Drops a database of an unfinished restore, and ends its connections. */
  discard(name: string): Promise<void>
  close(): Promise<void>
}

/** `filled`: it has tables, functions or other objects that belong to no extension. */
export interface DatabaseState {
  content: 'missing' | 'empty' | 'filled'
  connections: number
}

/** The first key of the advisory lock; the second is a hash of the name. */
const restoreLock = 7_277_691

/** Connects to another database of the server, as a database cannot be renamed or dropped from within. */
export async function openServer(databaseUrl: string): Promise<DatabaseServer> {
  const client = await openMaintenanceDatabase(databaseUrl)
  const on = { $client: client }
  const [facts] = await readVersion(on)
  if (!facts) throw new Error('PostgreSQL returned no row')
  const quote = pg.escapeIdentifier
  const run = (statement: string, problem: string) => client.query(statement).then(() => {}, failWith(problem))
  const discard = (name: string) =>
    run(`drop database if exists ${quote(name)} with (force)`, `The database "${name}" cannot be dropped`)
  return {
    ...facts,
    isBehindPooler: await isBehindPooler(client),
    async lock(name) {
      const [locked] = await tryLock(on, { name })
      if (!locked?.isTaken)
        throw conflict('request_in_progress', `Another restore into the database "${name}" is running`)
    },
    async inspect(name) {
      const [database] = await countConnections(on, { name })
      if (!database) return { content: 'missing', connections: 0 }
      const isEmpty = await withConnection(urlOfDatabase(databaseUrl, name), isEmptyDatabase)
      return { content: isEmpty ? 'empty' : 'filled', connections: database.connections }
    },
    async create(name, like) {
      const [found] = await readMark(on, { name })
      const isFilled = async () => !(await withConnection(urlOfDatabase(databaseUrl, name), isEmptyDatabase))
      // A process that is killed after CREATE DATABASE leaves an empty one without the mark.
      if (found && found.mark !== unfinished && (await isFilled())) {
        throw conflict('in_use', `The database "${name}" is not an unfinished restore: rename it, and try again`)
      }
      await discard(name)
      const template = 'database' in like ? `template ${quote(like.database)}` : `template template0 ${like.options}`
      await run(`create database ${quote(name)} ${template}`, `The database "${name}" cannot be created`)
      await client.query(`comment on database ${quote(name)} is '${unfinished}'`)
    },
    nameRestored(restored, name, replaced) {
      const rename = (from: string, to: string) => `alter database ${quote(from)} rename to ${quote(to)}`
      // PostgreSQL runs the statements of one query in one transaction.
      const statements = [
        ...(replaced === null ? [] : [rename(name, replaced)]),
        rename(restored, name),
        `comment on database ${quote(name)} is null`,
      ]
      return run(statements.join('; '), `The database "${restored}" cannot be renamed to "${name}"`)
    },
    drop: (name) => run(`drop database ${quote(name)}`, `The database "${name}" cannot be dropped`),
    discard,
    close: () => client.end(),
  }
}

/** The comment of a database until its restore is complete. Only such a database, or an empty one, is replaced. */
const unfinished = 'Rapport: an unfinished restore, which the next restore drops'
const readMark = namedStatement('read the mark of a database', {
  params: { name: text },
  columns: { mark: nullable(text) },
  sql: ({ name }) => sql`select shobj_description(oid, 'pg_database') as mark from pg_database where datname = ${name}`,
})

const readVersion = namedStatement('read the versions of the server', {
  columns: { majorVersion: int, version: text },
  sql: () => sql`
    select current_setting('server_version_num')::int / 10000 as major_version,
      current_setting('server_version') as version`,
})

const tryLock = namedStatement('lock a restore', {
  params: { name: text },
  columns: { isTaken: bool },
  sql: ({ name }) => sql`select pg_try_advisory_lock(${restoreLock}::int, hashtext(${name})) as is_taken`,
})

const countConnections = namedStatement('count the connections to a database', {
  params: { name: text },
  columns: { connections: int },
  sql: ({ name }) => sql`
  select (select count(*)::int from pg_stat_activity a where a.datid = d.oid and a.backend_type = 'client backend')
    as connections
  from pg_database d where d.datname = ${name}`,
})

/** Managed services may lack the first one, and some roles may not connect to it. */
async function openMaintenanceDatabase(databaseUrl: string): Promise<pg.Client> {
  const openTemplate = () => openConnection(urlOfDatabase(databaseUrl, 'template1'))
  if (databaseOf(databaseUrl) === 'postgres') return openTemplate()
  return openConnection(urlOfDatabase(databaseUrl, 'postgres')).catch((error: unknown) => {
    if (hasSqlState(error, ['3D000', '42501'])) return openTemplate()
    throw error
  })
}

async function isEmptyDatabase(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(`
    select from (
      select 'pg_class'::regclass as catalog, oid, relnamespace as namespace from pg_class
      union all select 'pg_proc'::regclass, oid, pronamespace from pg_proc) object
    join pg_namespace n on n.oid = object.namespace
    where n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
      and not exists (
        select from pg_depend d where d.classid = object.catalog and d.objid = object.oid and d.deptype = 'e')
    limit 1`)
  return rowCount === 0
}
