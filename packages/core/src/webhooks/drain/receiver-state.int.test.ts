import { eq } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { asEnded, insertDeliveries, recordTestOutcomes } from '@rapport/testing/fixtures/webhook-drain.ts'
import { claimTestBacklog, createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { webhookDrains } from '../../db/schema/index.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import { resetPause } from '../health/webhook-health.ts'
import type { DeliveryOutcome } from './record-outcomes.ts'

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

const isDrain = () => eq(webhookDrains.webhookId, webhookId)
const setDrain = (values: Partial<typeof webhookDrains.$inferInsert>) =>
  ctx.db.update(webhookDrains).set(values).where(isDrain())

async function readDrain() {
  const [drain] = await ctx.db.select().from(webhookDrains).where(isDrain())
  if (!drain) throw new Error('The webhook has no row in webhook_drains')
  return drain
}

/** Records consecutive rounds of outcomes under one claim. */
async function record(...rounds: Kind[][]) {
  const { claim } = await claimTestBacklog(ctx, webhookId, { workerId, limit: 1 })
  for (const [index, round] of rounds.entries()) {
    const ended = round.flatMap((kind) => asEnded([uuids.shift() ?? ''], kinds[kind]))
    const isLast = index === rounds.length - 1
    await recordTestOutcomes(ctx, claim, { ended, inFlight: isLast ? [] : [uuids[0] ?? ''] })
  }
  return claim
}

/** Returns the health columns. Times are shown as `new` if this test set them, otherwise as `old`. */
async function readHealth() {
  const { lastSuccessAt, lastFailureAt, failingSince, failureCount, warnedAt } = await readDrain()
  const describeTime = (time: Date | null) => (time === null ? null : time.getTime() < 1_000 ? 'old' : 'new')
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
    ['fu u', [null, 'new', 'new', 1, null]],
    ['u s', ['new', 'new', null, 0, null]],
    ['fs', ['new', 'new', null, 0, null]],
    ['sfn', ['new', 'new', 'new', 2, null]],
    ['fsf', ['new', 'new', 'new', 1, null]],
    ['fe ff -', [null, 'new', 'new', 3, null]],
    ['ff s', ['new', 'new', null, 0, null]],
    ['f sf n', ['new', 'new', 'new', 2, null]],
  ] as const)('after %s', async (rounds, health) => {
    await record(...roundsOf(rounds))
    expect(await readHealth()).toEqual(health)
  })

  const old = new Date(0)
  const failing = { lastSuccessAt: old, lastFailureAt: old, failingSince: old, failureCount: 7, warnedAt: old }
  test.each([
    ['-', ['old', 'old', 'old', 7, 'old']],
    ['fn', ['old', 'new', 'old', 9, 'old']],
    ['s', ['new', 'old', null, 0, null]],
    ['sf', ['new', 'new', 'new', 1, null]],
  ] as const)('of a receiver that was already failing, after %s', async (rounds, health) => {
    await record([])
    await setDrain(failing)
    await record(...roundsOf(rounds))
    expect(await readHealth()).toEqual(health)
  })

  test.each([
    ['fn', ['old', 'new', 'old', 9, 'old']],
    ['sf', ['new', 'new', 'new', 1, null]],
  ] as const)('counts %s once if it is recorded again after a lost response', async (rounds, health) => {
    await record([])
    await setDrain(failing)
    const { claim } = await claimTestBacklog(ctx, webhookId, { workerId, limit: 3 })
    const lost = { ...claim }
    const ended = roundsOf(rounds)
      .flat()
      .flatMap((kind, index) => asEnded([uuids[index] ?? ''], kinds[kind]))
    await recordTestOutcomes(ctx, lost, { ended, inFlight: uuids.slice(2, 3) })
    claim.tokens = [...claim.tokens, ...lost.tokens]
    await recordTestOutcomes(ctx, claim, { ended, inFlight: uuids.slice(2, 3) })
    expect(await readHealth()).toEqual(health)
  })
})

describe('the circuit breaker', () => {
  const noResponse: Kind[] = ['noResponse']
  const msUntil = (moment: Date | null) => (moment ? Math.round((moment.getTime() - Date.now()) / 1_000) * 1_000 : null)

  test('opens after the third round of deliveries that could not be signed', async () => {
    await record(['unsigned', 'unsigned'], ['unsigned'])
    expect(await readDrain()).toMatchObject({ unreachableCount: 2, pausedUntil: null })
    await record(['unsigned'])
    expect(msUntil((await readDrain()).pausedUntil)).toBe(1_000)
  })

  test('opens after the third round without a response and releases the claim', async () => {
    const claim = await record(noResponse, noResponse)
    expect(await readDrain()).toMatchObject({ unreachableCount: 2, pausedUntil: null })
    expect(claim.unreachableCount).toBe(2)
    const { claim: next } = await claimTestBacklog(ctx, webhookId, { workerId })
    const ended = asEnded([uuids.shift() ?? ''], kinds.noResponse)
    expect(await recordTestOutcomes(ctx, next, { ended, limit: 20 })).toMatchObject({ deliveries: [] })
    const drain = await readDrain()
    expect(drain).toMatchObject({ unreachableCount: 3, token: null, workerId: null })
    expect(msUntil(drain.pausedUntil)).toBe(1_000)
    expect((await claimTestBacklog(ctx, webhookId, { workerId })).take).toBeUndefined()
  })

  test('doubles the pause with each further round, and closes with a response', async () => {
    await record([])
    await setDrain({ unreachableCount: 5 })
    await record(noResponse)
    expect((await readDrain()).unreachableCount).toBe(6)
    expect(msUntil((await readDrain()).pausedUntil)).toBe(8_000)
    await setDrain({ pausedUntil: null })
    await record(['failure'])
    expect(await readDrain()).toMatchObject({ unreachableCount: 0, pausedUntil: null })
  })

  test('allows one delivery in flight after a round without a response', async () => {
    const { claim } = await claimTestBacklog(ctx, webhookId, { workerId, limit: 2 })
    const inFlight = uuids.slice(1, 2)
    const ended = asEnded(uuids.slice(0, 1), kinds.noResponse)
    expect(await recordTestOutcomes(ctx, claim, { ended, inFlight, limit: 20 })).toMatchObject({ deliveries: [] })
    const next = await recordTestOutcomes(ctx, claim, { ended: asEnded(inFlight, kinds.noResponse), limit: 20 })
    expect(next?.deliveries.map(({ uuid }) => uuid)).toEqual(uuids.slice(2, 3))
  })

  test('stays closed if the pause is reset during the attempt', async () => {
    await record([])
    await setDrain({ unreachableCount: 8 })
    const { claim } = await claimTestBacklog(ctx, webhookId, { workerId })
    await resetPause(ctx, webhookId)
    await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1), kinds.noResponse) })
    expect(await readDrain()).toMatchObject({ unreachableCount: 0, pausedUntil: null })
    expect(claim.unreachableCount).toBe(0)
  })

  test('counts a round once if it is recorded again after a lost response', async () => {
    await record([])
    await setDrain({ unreachableCount: 2 })
    const { claim } = await claimTestBacklog(ctx, webhookId, { workerId })
    const lost = { ...claim }
    const ended = asEnded(uuids.slice(0, 1), kinds.noResponse)
    await recordTestOutcomes(ctx, lost, { ended, inFlight: uuids.slice(1, 2) })
    const paused = (await readDrain()).pausedUntil
    claim.tokens = [...claim.tokens, ...lost.tokens]
    expect(await recordTestOutcomes(ctx, claim, { ended, inFlight: uuids.slice(1, 2) })).toMatchObject({
      deliveries: [],
    })
    expect(await readDrain()).toMatchObject({ unreachableCount: 3, pausedUntil: paused })
  })
})
