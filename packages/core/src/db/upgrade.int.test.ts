/** Upgrades from the previous release, with rows in every table: `previous-release.sql`, see docs/upgrade.md. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { dumpRows } from '@rapport/testing/previous-release/dump-rows.ts'
import { insertMinimalRows, readColumnDefaults } from '@rapport/testing/previous-release/minimal-rows.ts'
import {
  migrateUntil,
  readPreviousRelease,
  readTables,
  restorePreviousRelease,
  type TableRows,
} from '@rapport/testing/previous-release/previous-release.ts'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from './migrate.ts'

/** The intentional changes of this release. Empty again after `previous-release.sql` is rewritten. */
const changedOnPurpose = {
  /** `table` or `table.column` that the previous release does not use. */
  removed: [] as string[],
  /** Tables by their former names, which are views now, so that the previous release can write to them. */
  renamed: { outbox: 'work' } as Record<string, string>,
  /** `table.column` whose values a migration rewrites. */
  rewritten: [
    'mails.status',
    'mails.attempts',
    'campaign_batches.status',
    ...['status', 'error', 'worker_id', 'attempted_at'].map((column) => `deliveries.${column}`),
    ...['worker_id', 'token', 'delivery_ids'].map((column) => `webhook_drains.${column}`),
  ] as string[],
  /** Rows that a migration deletes and that this release does not use. */
  deleted: [] as RowsWithValue[],
  /** Rows that only a process of the previous release writes. The migration fails while such a process is running. */
  refused: [
    { table: 'mails', column: 'status', value: 'SENDING' },
    { table: 'campaign_batches', column: 'status', value: 'SENDING' },
    { table: 'webhook_drains', column: 'token', value: '01a10b13-abe8-7000-801b-000000000001' },
  ] as RowsWithValue[],
}

interface RowsWithValue {
  table: string
  column: string
  value: string
}

async function restorePreviousDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase()
  await restorePreviousRelease(database.pool)
  return database
}

/** The previous release, read-only. */
const before = useForFile(restorePreviousDatabase)

async function openDatabase(create: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await create()
  onTestFinished(() => database.close())
  return database
}

const howToAdd = 'Add the missing rows to previous-release.sql by hand.'

test('previous-release.sql has a row in every table of the previous release', async () => {
  const tables = await readTables(before.pool)
  const empty = tables.filter(({ rows }) => rows.length === 0).map(({ table }) => table)
  expect(tables.length).toBeGreaterThan(30)
  expect([howToAdd, empty]).toEqual([howToAdd, []])
})

test('previous-release.sql has a null and a value for every nullable column', async () => {
  const { rows: nullable } = await before.pool.query<{ table_name: string; column_name: string }>(`
    select table_name, column_name from information_schema.columns
    where table_schema = 'public' and is_nullable = 'YES' and is_generated = 'NEVER'`)
  const tables = await readTables(before.pool)
  const missing = nullable.flatMap(({ table_name, column_name }) => {
    // The rows of a partition are read with its table.
    const values = tables.find(({ table }) => table === table_name)?.rows.map((row) => row[column_name]) ?? [null, '']
    const name = `${table_name}.${column_name}`
    return [
      ...(values.includes(null) ? [] : [`${name}: null`]),
      ...(values.some((value) => value !== null) ? [] : [`${name}: a value`]),
    ]
  })
  expect(nullable.length).toBeGreaterThan(50)
  expect([howToAdd, missing]).toEqual([howToAdd, []])
})

test('previous-release.sql has every value of every check constraint', async () => {
  const { rows: checks } = await before.pool.query<{ table: string; column: string; definition: string }>(`
    select c.conrelid::regclass::text as table, a.attname as column, pg_get_constraintdef(c.oid) as definition
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]
    where c.contype = 'c' and c.connamespace = 'public'::regnamespace and pg_get_constraintdef(c.oid) like '%ANY (ARRAY[%'`)
  const tables = await readTables(before.pool)
  const missing = checks.flatMap(({ table: name, column, definition }) => {
    const rows = tables.find(({ table }) => table === name)?.rows
    const values = [...definition.matchAll(/'([^']+)'::text/g)].map(([, value]) => value)
    return rows ? values.filter((value) => !rows.some((row) => row[column] === value)).map((v) => `${name}: ${v}`) : []
  })
  expect(checks.length).toBeGreaterThan(10)
  expect([howToAdd, missing]).toEqual([howToAdd, []])
})

const { removed, renamed, rewritten, deleted, refused } = changedOnPurpose

/** Omits tables and columns that this release removed. */
function keptTables(tables: readonly TableRows[]): TableRows[] {
  return tables
    .filter(({ table }) => !removed.includes(table))
    .map((entry) => ({
      ...entry,
      columns: entry.columns.filter((column) => !removed.includes(`${entry.table}.${column}`)),
    }))
}

/** Omits rows that have one of these values. */
function withoutRows(tables: readonly TableRows[], values: readonly RowsWithValue[]): TableRows[] {
  const isLeftOut = (table: string, row: TableRows['rows'][number]) =>
    values.some((one) => one.table === table && row[one.column] === one.value)
  return tables.map((entry) => ({ ...entry, rows: entry.rows.filter((row) => !isLeftOut(entry.table, row)) }))
}

/** The values of these columns, in a stable order. */
function valuesOf({ table, rows }: TableRows, columns: readonly string[]): string[] {
  const compared = columns.filter((column) => !rewritten.includes(`${table}.${column}`))
  return rows.map((row) => JSON.stringify(compared.map((column) => [column, row[column]]))).toSorted()
}

function expectSameRows(actual: readonly TableRows[], expected: readonly TableRows[]): void {
  for (const entry of keptTables(expected)) {
    const found = actual.find(({ table }) => table === (renamed[entry.table] ?? entry.table))
    expect([entry.table, found && valuesOf(found, entry.columns)]).toEqual([
      entry.table,
      valuesOf(entry, entry.columns),
    ])
  }
}

test('an upgrade keeps every row and its values', async () => {
  const database = await openDatabase(restorePreviousDatabase)
  await migrate(database.url)
  expectSameRows(await readTables(database.pool), withoutRows(await readTables(before.pool), deleted))
})

test('an upgrade is refused, with no effect, while a worker is alive', async () => {
  const database = await openDatabase(restorePreviousDatabase)
  await database.pool.query('update workers set seen_at = now()')
  await expect(migrate(database.url)).rejects.toThrow(/^A worker is alive or was .*: stop all workers, wait 15 seconds/)
  await database.pool.query(`update workers set seen_at = now() - interval '16 seconds'`)
  await migrate(database.url)
})

test('a repeated upgrade is a no-op', async () => {
  const database = await openDatabase(restorePreviousDatabase)
  await migrate(database.url)
  const once = await readTables(database.pool)
  await migrate(database.url)
  expect(await readTables(database.pool)).toEqual(once)
})

test('this schema accepts every complete row of the previous release', async () => {
  const now = await openDatabase(createTestDatabase)
  const tables = await readTables(before.pool)
  const accepted = withoutRows(tables, refused)
  await now.pool.query(dumpRows(keptTables(accepted)))
  expectSameRows(await readTables(now.pool), accepted)
})

test.each(refused)('this schema rejects $table with $column $value', async ({ table, column, value }) => {
  const now = await openDatabase(createTestDatabase)
  const tables = await readTables(before.pool)
  await now.pool.query(dumpRows(keptTables(withoutRows(tables, refused))))
  const rows = tables.find((entry) => entry.table === table)?.rows.filter((row) => row[column] === value) ?? []
  expect(rows.length).toBeGreaterThan(0)
  const inserting = now.pool.query(
    dumpRows(tables.map((entry) => ({ ...entry, rows: entry.table === table ? rows : [] }))),
  )
  await expect(inserting).rejects.toMatchObject({ constraint: `${table}_${column}_check` })
})

test('this schema has the column defaults that the previous release relies on', async () => {
  const now = await openDatabase(createTestDatabase)
  const [tables, defaults] = [await readTables(before.pool), await readColumnDefaults(before.pool)]
  const { migration } = await readPreviousRelease()
  const then = await openDatabase(createEmptyDatabase)
  await migrateUntil(then.pool, migration)
  for (const rows of keptTables(tables)) {
    const ofTable = defaults.get(rows.table) ?? { required: [], changing: [] }
    const expected = await insertMinimalRows(then.pool, rows, ofTable)
    expect([rows.table, await insertMinimalRows(now.pool, rows, ofTable)]).toEqual([rows.table, expected])
  }
})
