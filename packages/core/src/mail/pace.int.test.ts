import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { mailPace } from '../schema.ts'
import { createTestDatabase, type TestDatabase } from '../testing/database.ts'
import { reserveMailPlaces } from './pace.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(() => database.db.delete(mailPace))
afterAll(() => database.close())

/** How long from now, by the database's clock, until the line is free again. */
async function lineMs(): Promise<number> {
  const result = await database.db.execute<{ ms: number }>(sql`
    select extract(epoch from next_at - clock_timestamp())::float8 * 1000 as ms from mail_pace`)
  return result.rows[0]?.ms ?? Number.NaN
}

test('the first mail may leave at once, and each further group when those before it have had their time', async () => {
  expect(await reserveMailPlaces(database.db, 10, 5)).toBe(0)
  expect(await reserveMailPlaces(database.db, 5, 5)).toBeCloseTo(2_000, -2)
  expect(await reserveMailPlaces(database.db, 1, 5)).toBeCloseTo(3_000, -2)
})

test('several workers together keep the rate: no two groups have the same time', async () => {
  const [groups, size, perSecond] = [60, 7, 20]
  const startedAt = performance.now()
  const reserved = await Promise.all(
    Array.from({ length: groups }, async () => {
      const waitMs = await reserveMailPlaces(database.db, size, perSecond)
      return { waitMs, leavesAt: performance.now() - startedAt + waitMs }
    }),
  )
  const elapsedMs = performance.now() - startedAt
  const groupMs = (size / perSecond) * 1000
  // All at once, so the n-th in line waits for n groups, less what has passed since the first came.
  const waits = reserved.map(({ waitMs }) => waitMs).toSorted((one, other) => one - other)
  for (const [place, waitMs] of waits.entries()) {
    expect(waitMs).toBeLessThanOrEqual(place * groupMs + 1)
    expect(waitMs).toBeGreaterThanOrEqual(place * groupMs - elapsedMs)
  }
  expect(await lineMs()).toBeGreaterThan(groups * groupMs - elapsedMs - 200)
})

test('a line that nobody stood in saves nothing up: after a pause there is no burst', async () => {
  await reserveMailPlaces(database.db, 1, 10)
  await database.db.execute(sql`update mail_pace set next_at = now() - interval '1 hour'`)
  expect(await reserveMailPlaces(database.db, 10, 10)).toBe(0)
  expect(await reserveMailPlaces(database.db, 1, 10)).toBeCloseTo(1_000, -2)
})

test('a rate of a thousand a second, and of one in a minute, are kept to the microsecond', async () => {
  for (let mail = 0; mail < 50; mail++) await reserveMailPlaces(database.db, 1, 100_000)
  expect(await lineMs()).toBeLessThan(10)
  await reserveMailPlaces(database.db, 1, 1 / 60)
  expect(await reserveMailPlaces(database.db, 1, 1 / 60)).toBeCloseTo(60_000, -3)
})
