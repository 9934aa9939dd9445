import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { mailPace } from '../db/schema/index.ts'
import { reserveMailSlots } from './mail-rate.ts'

const database = useTestDatabase()
beforeEach(() => database.db.delete(mailPace))

/** How long from now, by the database's clock, until the line is free again. */
async function lineMs(): Promise<number> {
  const result = await database.db.execute<{ ms: number }>(sql`
    select extract(epoch from next_at - clock_timestamp())::float8 * 1000 as ms from mail_pace`)
  return result.rows[0]?.ms ?? Number.NaN
}

/** Reserves places, and tells in how many milliseconds from `startedAt` the first may leave. */
async function reserveFrom(startedAt: number, count: number, perSecond: number) {
  const waitMs = await reserveMailSlots(database.db, count, perSecond)
  return performance.now() - startedAt + waitMs
}

test('the first mail may leave at once, and each further group when those before it have had their time', async () => {
  const startedAt = performance.now()
  expect(await reserveMailSlots(database.db, 10, 5)).toBe(0)
  const firstMs = performance.now() - startedAt
  for (const [count, placeMs] of [
    [5, 2_000],
    [1, 3_000],
  ] as const) {
    const askedAt = performance.now()
    const leavesMs = await reserveFrom(startedAt, count, 5)
    // Not before its time; and no later than the answers themselves took.
    expect(leavesMs).toBeGreaterThanOrEqual(placeMs - 5)
    expect(leavesMs).toBeLessThanOrEqual(placeMs + firstMs + (performance.now() - askedAt) + 5)
  }
})

test('several workers together keep the rate: no two groups have the same time', async () => {
  const [groups, size, perSecond] = [60, 7, 20]
  const startedAt = performance.now()
  const reserved = await Promise.all(
    Array.from({ length: groups }, async () => {
      const waitMs = await reserveMailSlots(database.db, size, perSecond)
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
  await reserveMailSlots(database.db, 1, 10)
  await database.db.execute(sql`update mail_pace set next_at = now() - interval '1 hour'`)
  const startedAt = performance.now()
  expect(await reserveMailSlots(database.db, 10, 10)).toBe(0)
  expect(await reserveFrom(startedAt, 1, 10)).toBeGreaterThanOrEqual(995)
})

test('a rate of a thousand a second, and of one in a minute, are kept to the microsecond', async () => {
  const startedAt = performance.now()
  for (let mail = 0; mail < 50; mail++) await reserveMailSlots(database.db, 1, 100_000)
  expect(await lineMs()).toBeLessThan(10)
  await reserveMailSlots(database.db, 1, 1 / 60)
  expect(await reserveFrom(startedAt, 1, 1 / 60)).toBeGreaterThanOrEqual(59_995)
})
