/** What a database contains, to compare a test restore with the database that was backed up. */
import { sql } from 'drizzle-orm'
import type pg from 'pg'
import { composedStatement, namedStatement } from '../db/statements/named-statement.ts'
import { bigint, text } from '../db/statements/sql-types.ts'
import { withConnection } from './connection.ts'

export interface DatabaseContents {
  /** The number of rows by table, with its schema: `public.contacts`. Each partition is a table. */
  rows: ReadonlyMap<string, number>
  /** The hashes of the applied migrations, in order. */
  migrations: readonly string[]
}

const selectTables = namedStatement('list tables', {
  columns: { name: text },
  sql: () => sql`
  select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  order by 1`,
})

/** Reads the contents of a database that no other process changes. */
export function readDatabaseContents(databaseUrl: string): Promise<DatabaseContents> {
  return withConnection(databaseUrl, async (client) => readContents(client, await listTables(client)))
}

async function listTables(client: pg.ClientBase): Promise<string[]> {
  return (await selectTables({ $client: client })).map(({ name }) => name)
}

/** Locks all tables against DROP until the transaction ends, and returns their names. */
export async function lockTables(client: pg.ClientBase): Promise<string[]> {
  const names = await listTables(client)
  if (names.length > 0)
    await client.query(`lock table ${names.map((name) => `only ${name}`).join(', ')} in access share mode`)
  return names
}

/** Counts the rows of these tables, one after the other. */
export async function readContents(client: pg.ClientBase, tables: readonly string[]): Promise<DatabaseContents> {
  const rows = new Map<string, number>()
  for (const table of tables) {
    const [counted] = await countRows({ $client: client }, sql`select count(*) from only ${sql.raw(table)}`)
    rows.set(table, counted?.count ?? NaN)
  }
  const isMigrated = rows.has(migrationsTable)
  const applied = isMigrated ? await selectMigrations({ $client: client }) : []
  return { rows, migrations: applied.map(({ hash }) => hash) }
}

const migrationsTable = 'drizzle.__drizzle_migrations'
const countRows = composedStatement('count the rows of a table', { columns: { count: bigint } })
const selectMigrations = namedStatement('list migrations', {
  columns: { hash: text },
  sql: () => sql`select hash from ${sql.raw(migrationsTable)} order by created_at, id`,
})

/** Describes each difference of a test restore from the original: missing tables, numbers of rows, migrations. */
export function compareContents(original: DatabaseContents, restored: DatabaseContents): string[] {
  const names = [...new Set([...original.rows.keys(), ...restored.rows.keys()])]
  const differences = names
    .filter((name) => original.rows.get(name) !== restored.rows.get(name))
    .map((name) => `${name} has ${describe(restored.rows.get(name))} instead of ${describe(original.rows.get(name))}`)
  const isSame = original.migrations.join() === restored.migrations.join()
  return isSame ? differences : [...differences, 'the applied migrations differ']
}

function describe(rows: number | undefined): string {
  if (rows === undefined) return 'no table'
  return rows === 1 ? '1 row' : `${rows} rows`
}
