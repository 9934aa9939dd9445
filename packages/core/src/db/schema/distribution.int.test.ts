/** The schema can be distributed over servers by `workspace_id`. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { coordinatorTables, referenceTables } from '../distribution/table-groups.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()

interface TableRow {
  name: string
  hasWorkspace: boolean
}

async function readTables(): Promise<TableRow[]> {
  const { rows } = await database.pool.query<TableRow>(`
    select c.relname as name, a.attname is not null as "hasWorkspace"
    from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace order by 1`)
  return rows
}

async function listDistributedTables(): Promise<string[]> {
  const tables = await readTables()
  const kept = [...referenceTables, ...coordinatorTables]
  return tables.filter(({ name, hasWorkspace }) => hasWorkspace && !kept.includes(name)).map(({ name }) => name)
}

test('every table is distributed, on every server, or on the coordinator', async () => {
  const tables = await readTables()
  const distributed = await listDistributedTables()
  expect(distributed.length).toBeGreaterThan(25)
  expect([...distributed, ...referenceTables, ...coordinatorTables].toSorted()).toEqual(tables.map(({ name }) => name))
})

test('every unique index of a distributed table contains workspace_id', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select x.indexrelid::regclass::text as name from pg_index x
     where x.indisunique and x.indrelid = any($1::regclass[]) and not exists (
       select from pg_attribute a
       where a.attrelid = x.indrelid and a.attname = 'workspace_id' and a.attnum = any(x.indkey[0:x.indnkeyatts - 1]))`,
    [await listDistributedTables()],
  )
  expect(rows).toEqual([])
})

test('every foreign key of a distributed table is valid within one server', async () => {
  const distributed = await listDistributedTables()
  const { rows } = await database.db.execute<{ name: string; parent: string; pairsWorkspace: boolean }>(sql`
    select c.conname as name, c.confrelid::regclass::text as parent, exists (
      select from unnest(c.conkey, c.confkey) as k (child, parent)
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.child and a.attname = 'workspace_id'
      join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.parent and b.attname = 'workspace_id'
    ) as "pairsWorkspace"
    from pg_constraint c
    where c.contype = 'f' and c.conparentid = 0 and c.conrelid = any(${sql.param(distributed)}::regclass[])`)
  expect(rows.length).toBeGreaterThan(8)
  const wrong = rows.filter(({ parent, pairsWorkspace }) =>
    distributed.includes(parent) ? !pairsWorkspace : !referenceTables.includes(parent),
  )
  expect(wrong).toEqual([])
})

test('no foreign key leads from another table to a distributed table', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select conname as name from pg_constraint
     where contype = 'f' and confrelid = any($1::regclass[]) and conrelid <> all($1::regclass[]) and conparentid = 0`,
    [await listDistributedTables()],
  )
  expect(rows).toEqual([])
})
