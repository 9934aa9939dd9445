import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { expect, test } from 'vitest'
import { createUuidFunction } from './server-version.ts'

const database = useForFile(createEmptyDatabase)

test('the uuidv7() of an older server has the bits of RFC 9562 and ascends', async () => {
  await createUuidFunction(database.db)
  const before = Date.now()
  const { rows } = await database.pool.query<{ id: string }>(
    'select public.uuidv7()::text as id from generate_series(1, 10000)',
  )
  const ids = rows.map(({ id }) => id)
  expect(ids.filter((id) => !/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toEqual(
    [],
  )
  expect(new Set(ids).size).toBe(10_000)
  const timesOf = (id: string) => parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  expect(timesOf(ids[0] ?? '')).toBeGreaterThanOrEqual(before - 1_000)
  expect(timesOf(ids.at(-1) ?? '')).toBeLessThanOrEqual(Date.now() + 1_000)
  // The version has one value and the fraction of the millisecond follows it: the first 16 hex digits sort by time.
  const heads = ids.map((id) => id.slice(0, 18))
  expect(heads).toEqual(heads.toSorted())
})
