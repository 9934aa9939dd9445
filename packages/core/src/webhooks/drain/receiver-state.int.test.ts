import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { readHealth, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import { resetPause } from '../health/webhook-health.ts'
import type { DeliveryOutcome } from './delivery-outcome.ts'
import { timestampAt, type Timestamp } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhookId: WebhookId
let workerId: string
let uuids: string[]
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx)).id
  uuids = await insertDeliveries(ctx, webhookId, { count: 40 })
})

const kinds = {
  success: {},
  failure: { status: 'FAILED', responseStatus: 500, error: 'status 500' },
  noResponse: { status: 'FAILED', responseStatus: null, responseBody: null, error: 'connect timeout' },
  eventDeleted: {
    status: 'FAILED',
    attemptedAt: null,
    durationMs: null,
    responseStatus: null,
    error: 'The event no longer exists',
  },
  unsigned: {
    status: 'PENDING',
    attemptedAt: null,
    durationMs: null,
    responseStatus: null,
    error: 'The delivery could not be signed',
  },
} satisfies Record<string, Partial<DeliveryOutcome>>
type Kind = keyof typeof kinds
const kindOf: Record<string, Kind> = { s: 'success', f: 'failure', n: 'noResponse', e: 'eventDeleted', u: 'unsigned' }

const set = (health: Parameters<typeof setHealth>[2]) => setHealth(ctx, webhookId, health)
async function read() {
  const health = await readHealth(ctx, webhookId)
  if (!health) throw new Error('The webhook has no health')
  return health
}

/** Records consecutive rounds of outcomes under one claim. */
async function record(...rounds: Kind[][]) {
  const { claim } = await claimTestDrain(ctx, { workerId, limit: 1 })
  for (const [index, round] of rounds.entries()) {
    const ended = round.flatMap((kind) => asEnded([uuids.shift() ?? ''], kinds[kind]))
    const isLast = index === rounds.length - 1
    await recordTestOutcomes(ctx, claim, { ended, inFlight: isLast ? [] : [uuids[0] ?? ''] })
  }
  return claim
}

const noHealth = { lastSuccessAt: null, lastFailureAt: null, failingSince: null, failureCount: 0, warnedAt: null }

/** Returns the health columns. Times are shown as `new` if this test set them, otherwise as `old`. */
async function readTimes() {
  const health = (await readHealth(ctx, webhookId)) ?? noHealth
  const { lastSuccessAt, lastFailureAt, failingSince, failureCount, warnedAt } = health
  const describeTime = (time: Timestamp | null) => (time === null ? null : Date.parse(time) < 1_000 ? 'old' : 'new')
  return [...[lastSuccessAt, lastFailureAt, failingSince].map(describeTime), failureCount, describeTime(warnedAt)]
}

describe('the health of a webhook', () => {
  /** Parses rounds: one word per round, one letter per outcome (see `kindOf`), `-` for a round without outcomes. */
  const roundsOf = (text: string) =>
    text.split(' ').map((word) => word.split('').flatMap((letter) => kindOf[letter] ?? []))

  test.each([
    ['-', [null, null, null, 0, null]],
    ['s', ['new', null, null, 0, null]],
    ['f', [null, 'new', 'new', 1, null]],
    ['n', [null, 'new', 'new', 1, null]],
    ['e', [null, null, null, 0, null]],
    ['u', [null, 'new', 'new', 0, null]],
    ['fu u', [null, 'new', 'new', 0, null]],
    ['u s', ['new', 'new', null, 0, null]],
    ['fs', ['new', 'new', null, 0, null]],
    ['sfn', ['new', 'new', 'new', 2, null]],
    ['fsf', ['new', 'new', 'new', 1, null]],
    ['fe ff -', [null, 'new', 'new', 3, null]],
    ['ff s', ['new', 'new', null, 0, null]],
    ['f sf n', ['new', 'new', 'new', 2, null]],
  ] as const)('after %s', async (rounds, health) => {
    await record(...roundsOf(rounds))
    expect(await readTimes()).toEqual(health)
  })

  const old = timestampAt(0)
  const failing = { lastSuccessAt: old, lastFailureAt: old, failingSince: old, failureCount: 7, warnedAt: old }
  test.each([
    ['-', ['old', 'old', 'old', 7, 'old']],
    ['fn', ['old', 'new', 'old', 9, 'old']],
    ['s', ['new', 'old', null, 0, null]],
    ['sf', ['new', 'new', 'new', 1, null]],
    ['u', ['old', 'new', 'old', 0, null]],
    ['u f', ['old', 'new', 'new', 1, null]],
  ] as const)('of a receiver that was already failing, after %s', async (rounds, health) => {
    await set(failing)
    await record(...roundsOf(rounds))
    expect(await readTimes()).toEqual(health)
  })

  test.each([
    ['u', [null, 'new', 'old', 0, null]],
    ['f', [null, 'new', 'new', 1, null]],
  ] as const)('whose deliveries could not be signed for long, after %s', async (rounds, health) => {
    await set({ lastFailureAt: old, failingSince: old, failureCount: 0 })
    await record(...roundsOf(rounds))
    expect(await readTimes()).toEqual(health)
  })

  test.each([
    ['fn', ['old', 'new', 'old', 9, 'old']],
    ['sf', ['new', 'new', 'new', 1, null]],
  ] as const)('counts %s once if it is recorded again after a lost response', async (rounds, health) => {
    await set(failing)
    const { claim } = await claimTestDrain(ctx, { workerId, limit: 3 })
    const lost = { ...claim, receivers: new Map(claim.receivers) }
    const ended = roundsOf(rounds)
      .flat()
      .flatMap((kind, index) => asEnded([uuids[index] ?? ''], kinds[kind]))
    await recordTestOutcomes(ctx, lost, { ended, inFlight: uuids.slice(2, 3) })
    claim.tokens = [...claim.tokens, ...lost.tokens]
    await recordTestOutcomes(ctx, claim, { ended, inFlight: uuids.slice(2, 3) })
    expect(await readTimes()).toEqual(health)
  })
})

describe('the circuit breaker', () => {
  const noResponse: Kind[] = ['noResponse']
  const readPauseMs = async () => {
    const { pausedUntil, lastFailureAt } = await read()
    return Date.parse(pausedUntil ?? '') - Date.parse(lastFailureAt ?? '')
  }

  test('opens after the third round of deliveries that could not be signed', async () => {
    await record(['unsigned', 'unsigned'], ['unsigned'])
    expect(await read()).toMatchObject({ unreachableCount: 2, pausedUntil: null })
    await record(['unsigned'])
    expect(await readPauseMs()).toBe(1_000)
  })

  test('opens after the third round without a response and releases the claim', async () => {
    const claim = await record(noResponse, noResponse)
    expect(await read()).toMatchObject({ unreachableCount: 2, pausedUntil: null })
    expect(claim.receivers.get(webhookId)).toMatchObject({ unreachableCount: 2 })
    const { claim: next } = await claimTestDrain(ctx, { workerId })
    const ended = asEnded([uuids.shift() ?? ''], kinds.noResponse)
    expect(await recordTestOutcomes(ctx, next, { ended, limit: 20 })).toMatchObject({ deliveries: [] })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(await read()).toMatchObject({ unreachableCount: 3 })
    expect(await readPauseMs()).toBe(1_000)
    await set({ pausedUntil: timestampAt(Date.now() + 60_000) })
    expect((await claimTestDrain(ctx, { workerId })).take).toBeUndefined()
  })

  test('doubles the pause with each further round, and closes with a response', async () => {
    await set({ unreachableCount: 5 })
    await record(noResponse)
    expect((await read()).unreachableCount).toBe(6)
    expect(await readPauseMs()).toBe(8_000)
    await set({ pausedUntil: null })
    await record(['failure'])
    expect(await read()).toMatchObject({ unreachableCount: 0, pausedUntil: null })
  })

  test('allows one delivery in flight after a round without a response', async () => {
    const { claim } = await claimTestDrain(ctx, { workerId, limit: 2 })
    const inFlight = uuids.slice(1, 2)
    const ended = asEnded(uuids.slice(0, 1), kinds.noResponse)
    expect(await recordTestOutcomes(ctx, claim, { ended, inFlight, limit: 20 })).toMatchObject({ deliveries: [] })
    const next = await recordTestOutcomes(ctx, claim, { ended: asEnded(inFlight, kinds.noResponse), limit: 20 })
    expect(next?.deliveries.map(({ uuid }) => uuid)).toEqual(uuids.slice(2, 3))
  })

  test('stays closed if the pause is reset during the attempt', async () => {
    await set({ unreachableCount: 8 })
    const { claim } = await claimTestDrain(ctx, { workerId })
    await resetPause(ctx, webhookId)
    await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1), kinds.noResponse) })
    expect(await read()).toMatchObject({ unreachableCount: 0, pausedUntil: null })
    expect(claim.receivers.get(webhookId)).toMatchObject({ unreachableCount: 0 })
  })

  test.each([
    ['an attempt from before the last round has no response', 'noResponse'],
    ['the event of a delivery was deleted', 'eventDeleted'],
  ] as const)('stays open if %s', async (_case, kind) => {
    const { claim: made } = await claimTestDrain(ctx, { workerId, limit: 4 })
    const claim = { ...made, firstPauseMs: 60_000 }
    for (const round of [1, 2, 3]) {
      const ended = asEnded(uuids.slice(round - 1, round), kinds.noResponse)
      await recordTestOutcomes(ctx, claim, { ended, inFlight: uuids.slice(round, 4) })
    }
    const { pausedUntil } = await read()
    expect(pausedUntil).not.toBeNull()
    const ended = asEnded(uuids.slice(3, 4), { attemptedAt: timestampAt(0), ...kinds[kind] })
    expect(await recordTestOutcomes(ctx, claim, { ended, limit: 20 })).toEqual({ deliveries: [], hasMore: false })
    expect(await read()).toMatchObject({ unreachableCount: 3, pausedUntil })
  })

  test('counts a round once if it is recorded again after a lost response', async () => {
    await set({ unreachableCount: 2 })
    const { claim } = await claimTestDrain(ctx, { workerId })
    const lost = { ...claim, receivers: new Map(claim.receivers) }
    const ended = asEnded(uuids.slice(0, 1), kinds.noResponse)
    await recordTestOutcomes(ctx, lost, { ended, inFlight: uuids.slice(1, 2) })
    const paused = (await read()).pausedUntil
    claim.tokens = [...claim.tokens, ...lost.tokens]
    expect(await recordTestOutcomes(ctx, claim, { ended, inFlight: uuids.slice(1, 2) })).toMatchObject({
      deliveries: [],
    })
    expect(await read()).toMatchObject({ unreachableCount: 3, pausedUntil: paused })
  })
})
