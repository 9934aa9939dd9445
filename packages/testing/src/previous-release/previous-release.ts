/** The database of the previous release: `previous-release.sql` has its last migration, and rows for every table. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as runMigrations } from 'drizzle-orm/node-postgres/migrator'
import type pg from 'pg'
import { createMissingUuidFunction } from '@rapport/core/db/server-version.ts'

export const previousReleasePath = resolve(import.meta.dirname, 'previous-release.sql')
const migrationsFolder = resolve(import.meta.dirname, '../../../../drizzle')

/** Values are text, so that numbers keep their digits and JSON its order. Generated columns are left out. */
export interface TableRows {
  table: string
  columns: string[]
  rows: Record<string, string | null>[]
}

/** Applies the migrations up to and including the named one. */
export async function migrateUntil(pool: pg.Pool, migration: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-migrations-'))
  try {
    await cp(migrationsFolder, folder, { recursive: true })
    const entries = await readMigrations()
    const last = entries.findIndex(({ tag }) => tag === migration)
    if (last < 0) throw new Error(`There is no migration ${migration} in drizzle/meta/_journal.json`)
    const journal = { version: '7', dialect: 'postgresql', entries: entries.slice(0, last + 1) }
    await writeFile(join(folder, 'meta/_journal.json'), JSON.stringify(journal))
    const db = drizzle({ client: pool })
    await createMissingUuidFunction(db)
    await runMigrations(db, { migrationsFolder: folder })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Turns an empty database into the database of the previous release. */
export async function restorePreviousRelease(pool: pg.Pool): Promise<void> {
  const dump = await readPreviousRelease()
  await migrateUntil(pool, dump.migration)
  await pool.query(dump.statements)
}

/** Returns the name of the previous release's last migration, and the statements that insert its rows. */
export async function readPreviousRelease(): Promise<{ migration: string; statements: string }> {
  const statements = await readFile(previousReleasePath, 'utf8')
  const [, migration] = /^-- Last migration: (\w+)$/m.exec(statements) ?? []
  if (migration === undefined) throw new Error(`${previousReleasePath} has no line "-- Last migration: <name>"`)
  return { migration, statements }
}

export async function readMigrations(): Promise<{ tag: string }[]> {
  const text = await readFile(join(migrationsFolder, 'meta/_journal.json'), 'utf8')
  return (JSON.parse(text) as { entries: { tag: string }[] }).entries
}

/** Returns all tables, parents before their children, so that rows can be inserted in this order. */
export async function readTables(pool: pg.Pool): Promise<TableRows[]> {
  const client = await pool.connect()
  try {
    // The text of a timestamp depends on the time zone.
    await client.query(`set timezone = 'UTC'`)
    const found = await client.query<{ table: string; columns: string[] }>(tablesAndColumns)
    const tables: TableRows[] = []
    for (const { table, columns } of found.rows) {
      const list = columns.map((name) => `${client.escapeIdentifier(name)}::text`)
      const rows = await client.query<Record<string, string | null>>(
        `select ${list.join(', ')} from ${client.escapeIdentifier(table)} order by ${list.join(', ')}`,
      )
      tables.push({ table, columns, rows: rows.rows })
    }
    return tables
  } finally {
    await client.query('reset timezone')
    client.release()
  }
}

const tablesAndColumns = `
  with recursive tables as (
    select oid, relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition),
  links as (
    select distinct conrelid as child, confrelid as parent from pg_constraint
    where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid),
  depths as (
    select oid, 0 as depth from tables
    union select child, depth + 1 from depths join links on parent = depths.oid)
  select relname as table, (
      select array_agg(attname::text order by attnum) from pg_attribute
      where attrelid = t.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
  from tables t join depths using (oid)
  group by t.oid, relname order by max(depth), relname`
