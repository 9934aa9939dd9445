/**
 * Spreads a database over several servers with Citus, an extension of PostgreSQL. All rows of a workspace are on one
 * server, so a statement that names its workspace runs on that server alone. See docs/scaling.md.
 */
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import type { Db } from '../client.ts'
import { composedStatement, namedStatement } from '../statements/named-statement.ts'
import { arrayOf, bool, float, text } from '../statements/sql-types.ts'
import { transaction } from '../transaction.ts'
import { coordinatorTables, referenceTables } from './table-groups.ts'

/** The tables that are not where they belong yet, by what `distribute` makes of them. */
export interface PendingDistribution {
  reference: string[]
  distributed: string[]
}

export interface Distribution {
  /** The servers that have rows of workspaces, as `host:port`. */
  nodes: string[]
  /** Whether the coordinator is one of the servers of the cluster, so that it has the reference tables. */
  hasCoordinator: boolean
  /** Whether any table is distributed. */
  isDistributed: boolean
  /** The size of the coordinator's part of the database: before the distribution, of all rows. */
  bytes: number
  /** Everything at first; later the tables that a migration has added. */
  pending: PendingDistribution
}

const findExtension = namedStatement('find the extension of a cluster', {
  sql: () => sql`select from pg_extension where extname = 'citus'`,
})
// Composed, because a server without the extension cannot describe these statements.
const selectNames = composedStatement('list names of a cluster', { columns: { name: text } })
const selectFacts = composedStatement('read facts of a cluster', {
  columns: { hasCoordinator: bool, isDistributed: bool, bytes: float },
})

/** Returns undefined if the database does not have the extension. */
export async function readDistribution(db: Db): Promise<Distribution | undefined> {
  if ((await findExtension(db)) === 0) return undefined
  const nodes = await selectNames(
    db,
    sql`
    select nodename || ':' || nodeport as name from pg_dist_node
    where isactive and shouldhaveshards and noderole = 'primary' order by groupid`,
  )
  const [facts] = await selectFacts(
    db,
    sql`
    select exists (select from pg_dist_node where groupid = 0) as has_coordinator,
      exists (select from pg_dist_partition) as is_distributed,
      pg_database_size(current_database())::float8 as bytes`,
  )
  const tables = await selectNames(
    db,
    sql`
    select relname::text as name from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and not exists (select from pg_dist_partition p where p.logicalrelid = c.oid)
    order by relname`,
  )
  const pending = tables.map(({ name }) => name).filter((name) => !coordinatorTables.includes(name))
  return {
    nodes: nodes.map(({ name }) => name),
    hasCoordinator: facts?.hasCoordinator ?? false,
    isDistributed: facts?.isDistributed ?? false,
    bytes: facts?.bytes ?? 0,
    pending: {
      reference: referenceTables.filter((name) => pending.includes(name)),
      distributed: pending.filter((name) => !referenceTables.includes(name)),
    },
  }
}

/**
 * Moves the rows of the pending tables to their servers, in one transaction that locks the tables. The database needs
 * the extension, its servers (`citus_add_node`) and all migrations. A repetition finishes an interrupted call.
 *
 * Citus moves no table with a foreign key to a table elsewhere, so these keys are removed meanwhile. `ON DELETE SET
 * NULL` of one column does not come back, because Citus rejects it: what deletes such rows clears the references first.
 */
export async function distribute(databaseUrl: string, pending: PendingDistribution): Promise<void> {
  // Without the timeouts of other connections, because it copies all rows.
  const pool = new pg.Pool({ connectionString: databaseUrl, application_name: 'rapport distribute', max: 1 })
  // A lost connection fails the next statement. Without a listener the error would end the process.
  pool.on('error', () => {})
  try {
    // The planner settings of a transaction count on the servers, too.
    await pool.query(`
      do $$ begin
        execute format('alter database %I set citus.propagate_set_commands = local', current_database());
      end $$`)
    await transaction(drizzle(pool), (db) => distributeTables(db, pending))
    await removeLocalCopies(pool)
  } finally {
    await pool.end()
  }
}

/** Citus has copied the rows, and keeps the originals without reading them. A partition is truncated with its table. */
async function removeLocalCopies(pool: pg.Pool): Promise<void> {
  const tables = await selectNames(
    { $client: pool },
    sql`
    select distinct coalesce(pg_partition_root(logicalrelid), logicalrelid)::text as name from pg_dist_partition
    where pg_relation_size(logicalrelid) > 0`,
  )
  for (const { name } of tables) {
    await pool.query('select truncate_local_data_after_distributing_table($1::regclass)', [name])
  }
}

async function distributeTables(db: Db, { reference, distributed }: PendingDistribution): Promise<void> {
  // Citus asks for it where distributed tables have foreign keys to reference tables.
  await db.execute(sql`set local citus.multi_shard_modify_mode = 'sequential'`)
  const keys = await removeForeignKeys(db, [...reference, ...distributed])
  for (const table of reference) await db.execute(sql`select create_reference_table(${table})`)
  for (const table of distributed) {
    // Tables that are distributed by columns of one type have the rows of a workspace on the same server.
    await db.execute(sql`select create_distributed_table(${table}, 'workspace_id')`)
  }
  for (const { table, name, definition } of keys) {
    const key = sql`${sql.identifier(name)} ${sql.raw(definition)}`
    await db.execute(sql`alter table ${sql.identifier(table)} add constraint ${key}`)
  }
}

/**
 * The servers that another server of the cluster cannot reach, as `host:port`. Without one of them, its workspaces are
 * unavailable.
 */
export async function listUnreachableNodes(db: Db): Promise<string[]> {
  const nodes = await selectNames(
    db,
    sql`
    select distinct to_nodename || ':' || to_nodeport as name from citus_check_cluster_node_health()
    where result is not true order by 1`,
  )
  return nodes.map(({ name }) => name)
}

/** The names of the processes of Rapport that are connected, commands excepted. */
export async function listConnectedPrograms(db: Db): Promise<string[]> {
  return (await selectPrograms(db)).map(({ name }) => name)
}

const selectPrograms = namedStatement('list connected programs', {
  columns: { name: text },
  sql: () => sql`
    select distinct application_name as name from pg_stat_activity
    where datname = current_database() and application_name like 'rapport%' and application_name <> 'rapport command'
    order by 1`,
})

/** Removes the foreign keys from and to these tables. Returns them as Citus accepts them. */
async function removeForeignKeys(db: Db, tables: readonly string[]): Promise<ForeignKey[]> {
  const keys = await selectForeignKeys(db, { tables })
  for (const { table, name } of keys) {
    await db.execute(sql`alter table ${sql.identifier(table)} drop constraint ${sql.identifier(name)}`)
  }
  return keys
}

const selectForeignKeys = namedStatement('list foreign keys', {
  params: { tables: arrayOf(text) },
  columns: { table: text, name: text, definition: text },
  sql: ({ tables }) => sql`
    select conrelid::regclass::text as table, conname::text as name,
      regexp_replace(pg_get_constraintdef(oid), ' ON DELETE SET NULL \\(\\w+\\)', '') as definition
    from pg_constraint
    where contype = 'f' and conparentid = 0
      and (conrelid = any(${tables}::regclass[]) or confrelid = any(${tables}::regclass[]))
    order by conrelid, conname`,
})
type ForeignKey = Awaited<ReturnType<typeof selectForeignKeys>>[number]
