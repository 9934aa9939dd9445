/** The one migration is the schema. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { useTestDatabase } from '../fixtures/use-fixtures.ts'
import { writeMigration } from './remake-migration.ts'

const committed = resolve(import.meta.dirname, '../../../../drizzle')
const database = useTestDatabase()

async function readFiles(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true })
  const files = names.filter((name) => name.includes('.')).toSorted()
  return Object.fromEntries(
    await Promise.all(files.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
}

test('pnpm db:remake gives the files that are committed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-migration-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeMigration(folder)
  expect(await readFiles(committed), 'run "npx --yes pnpm db:remake"').toEqual(await readFiles(folder))
})

interface Snapshot {
  tables: Record<string, SnapshotTable>
}
interface SnapshotTable {
  name: string
  columns: Record<string, { name: string; type: string; notNull: boolean; primaryKey: boolean }>
  indexes: Record<string, unknown>
  foreignKeys: Record<string, unknown>
  compositePrimaryKeys: Record<string, { name: string }>
  uniqueConstraints: Record<string, unknown>
  checkConstraints: Record<string, unknown>
}

/** What the schema in TypeScript declares: the snapshot is generated from it. */
function describeTable({ name, columns, ...table }: SnapshotTable): string[] {
  const keys = Object.values(table.compositePrimaryKeys).map((key) => key.name)
  const isKeyed = Object.values(columns).some(({ primaryKey }) => primaryKey)
  return [
    ...Object.values(columns).map((column) => {
      const type = column.type.replace(' (', '(')
      return `column ${column.name} ${type} ${column.notNull ? 'not null' : 'null'}`
    }),
    ...(isKeyed ? [`${name}_pkey`] : keys).map((key) => `constraint ${key}`),
    ...Object.keys({ ...table.foreignKeys, ...table.uniqueConstraints, ...table.checkConstraints }).map(
      (key) => `constraint ${key}`,
    ),
    ...Object.keys(table.indexes).map((index) => `index ${index}`),
  ].map((part) => `${name}: ${part}`)
}

test('the migrated database has the tables, constraints and indexes of the schema', async () => {
  const text = await readFile(join(committed, 'meta/0000_snapshot.json'), 'utf8')
  const declared = Object.values((JSON.parse(text) as Snapshot).tables).flatMap(describeTable)
  const { rows } = await database.pool.query<{ part: string }>(`
    with tables as (
      select oid, relname from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition)
    select relname || ': ' || part as part from tables t, lateral (
      select 'column ' || attname || ' ' || format_type(atttypid, atttypmod) || case when attnotnull then ' not null' else ' null' end
      from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped
      union all select 'constraint ' || conname from pg_constraint where conrelid = t.oid and contype in ('p', 'f', 'c', 'u')
      union all select 'index ' || indexrelid::regclass from pg_index x
      where indrelid = t.oid and not exists (select from pg_constraint where conindid = x.indexrelid and contype in ('p', 'u'))
    ) as parts (part)`)
  expect(declared.length).toBeGreaterThan(500)
  expect(rows.map(({ part }) => part).toSorted()).toEqual(declared.toSorted())
})
