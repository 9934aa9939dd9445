import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { mailRates } from '../db/schema/index.ts'
import { reserveMailSlots, reserveSingleMailSlots } from './mail-rate.ts'

const database = useTestDatabase()
beforeEach(() => database.db.delete(mailRates))

/** The time until the next free slot, by the clock of the database. */
async function readWaitMs(): Promise<number> {
  const result = await database.db.execute<{ ms: number }>(sql`
    select extract(epoch from next_at - clock_timestamp())::float8 * 1000 as ms from mail_rates`)
  return result.rows[0]?.ms ?? Number.NaN
}

/** Reserves slots. Returns the milliseconds from `startedAt` until the first mail may be sent. */
async function reserveFrom(startedAt: number, count: number, perSecond: number) {
  const waitMs = await reserveMailSlots(database.db, count, perSecond)
  return performance.now() - startedAt + waitMs
}

test('the first group may be sent immediately, and each later group after its delay', async () => {
  const startedAt = performance.now()
  expect(await reserveMailSlots(database.db, 10, 5)).toBe(0)
  const firstMs = performance.now() - startedAt
  for (const [count, slotMs] of [
    [5, 2_000],
    [1, 3_000],
  ] as const) {
    const reservedAt = performance.now()
    const sendableMs = await reserveFrom(startedAt, count, 5)
    // At most later by the time that the calls themselves took.
    expect(sendableMs).toBeGreaterThanOrEqual(slotMs - 5)
    expect(sendableMs).toBeLessThanOrEqual(slotMs + firstMs + (performance.now() - reservedAt) + 5)
  }
})

test('concurrent workers share the rate: no two groups get the same slots', async () => {
  const [groups, size, perSecond] = [60, 7, 20]
  const startedAt = performance.now()
  const reserved = await Promise.all(
    Array.from({ length: groups }, async () => {
      const waitMs = await reserveMailSlots(database.db, size, perSecond)
      return { waitMs, sendableAt: performance.now() - startedAt + waitMs }
    }),
  )
  const elapsedMs = performance.now() - startedAt
  const groupMs = (size / perSecond) * 1000
  // The calls are concurrent: the n-th group waits for n groups, minus the time since the first call.
  const waits = reserved.map(({ waitMs }) => waitMs).toSorted((one, other) => one - other)
  for (const [index, waitMs] of waits.entries()) {
    expect(waitMs).toBeLessThanOrEqual(index * groupMs + 1)
    expect(waitMs).toBeGreaterThanOrEqual(index * groupMs - elapsedMs)
  }
  expect(await readWaitMs()).toBeGreaterThan(groups * groupMs - elapsedMs - 200)
})

test('unused capacity is not saved: there is no burst after a pause', async () => {
  await reserveMailSlots(database.db, 1, 10)
  await database.db.execute(sql`update mail_rates set next_at = now() - interval '1 hour'`)
  const startedAt = performance.now()
  expect(await reserveMailSlots(database.db, 10, 10)).toBe(0)
  expect(await reserveFrom(startedAt, 1, 10)).toBeGreaterThanOrEqual(995)
})

test('very high and very low rates are kept', async () => {
  const startedAt = performance.now()
  for (let mail = 0; mail < 50; mail++) await reserveMailSlots(database.db, 1, 100_000)
  expect(await readWaitMs()).toBeLessThan(10)
  await reserveMailSlots(database.db, 1, 1 / 60)
  expect(await reserveFrom(startedAt, 1, 1 / 60)).toBeGreaterThanOrEqual(59_995)
})

test('a single mail does not wait for a newsletter, and the newsletter gives way to it', async () => {
  const startedAt = performance.now()
  for (let group = 0; group < 100; group++) await reserveMailSlots(database.db, 20, 10)
  expect(await reserveSingleMailSlots(database.db, 1, 10)).toBe(0)
  expect(await reserveSingleMailSlots(database.db, 1, 10)).toBeLessThanOrEqual(100)
  // 2,000 mails of the newsletter and two single mails.
  expect(await reserveFrom(startedAt, 1, 10)).toBeGreaterThanOrEqual(200_195)
})

test('single mails keep the rate among themselves', async () => {
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: 30 }, () => reserveSingleMailSlots(database.db, 1, 10)))
  const waitMs = await reserveSingleMailSlots(database.db, 1, 10)
  expect(performance.now() - startedAt + waitMs).toBeGreaterThanOrEqual(2_995)
})
