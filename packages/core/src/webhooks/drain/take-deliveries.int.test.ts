/** Which deliveries a drain takes of several webhooks. */
import { beforeAll, describe, expect, test } from 'vitest'
import { countDeliveries, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { getTakenIds } from '@rapport/testing/fixtures/webhook-drain.ts'
import { setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import {
  countTaken,
  createTestBacklogs,
  endedOf,
  limitsOf,
  limitTo,
  takenOf,
} from '@rapport/testing/fixtures/webhook-limits.ts'
import { suspendWorkspace } from '../../workspaces/suspension.ts'
import { updateWebhook } from '../../operations/webhooks/save-webhook.ts'
import { deleteWebhook } from '../webhooks.ts'
import { type DrainClaim, prepareDrain } from './drain-claim.ts'
import { claimDrain, recordAndTakeNext, releaseUnacknowledgedDrain, type TakeResult } from './drain.ts'
import type { TakeLimits } from './take-deliveries.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})

const prepare = () => prepareDrain({ workspaceId: ctx.workspaceId, workerId })
async function claimWith(limits: TakeLimits): Promise<{ claim: DrainClaim; take: TakeResult | undefined }> {
  const claim = prepare()
  return { claim, take: await claimDrain(ctx.db, claim, limits) }
}
const takeWith = async (limits: TakeLimits) => (await claimWith(limits)).take

const minutesFromNow = (minutes: number) => timestampAt(Date.now() + minutes * 60_000)
const pauseFor = (minutes: number) => ({ unreachableCount: 3, pausedUntil: minutesFromNow(minutes) })

async function readStatuses(uuids: readonly string[]): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string; status: string }>(
    `select id, concat_ws(' ', status, error) as status from deliveries where id = any($1)`,
    [uuids],
  )
  return uuids.map((uuid) => rows.find(({ id }) => id === uuid)?.status ?? 'none')
}

describe('capacity', () => {
  test('are dealt round robin: each webhook gets one before any gets a second', async () => {
    const backlogs = await createTestBacklogs(ctx, 50, 1, 3, 50)
    const known = backlogs.map((backlog) => limitsOf(backlog))
    const { claim, take } = await claimWith(limitTo(3, known))
    expect([countTaken(take, backlogs), take?.hasMore]).toEqual([[1, 1, 1, 0], true])
    await releaseUnacknowledgedDrain(ctx.db, claim)
    const { claim: next, take: more } = await claimWith(limitTo(9, known))
    expect([countTaken(more, backlogs), more?.hasMore]).toEqual([[3, 1, 3, 2], true])
    for (const backlog of backlogs) {
      const taken = takenOf(more, backlog).map(({ uuid }) => uuid)
      expect(taken, 'the oldest first').toEqual(backlog.uuids.slice(0, taken.length))
    }
    await releaseUnacknowledgedDrain(ctx.db, next)
    expect(countTaken(await takeWith(limitTo(30, known)), backlogs)).toEqual([13, 1, 3, 13])
  })

  test('go to the webhooks with the fewest requests in flight first', async () => {
    const backlogs = await createTestBacklogs(ctx, 20, 20, 20)
    const [first, second, third] = backlogs
    const { claim, take } = await claimWith(limitTo(5, [limitsOf(first)]))
    expect(countTaken(take, backlogs)).toEqual([3, 1, 1])
    const inFlight = getTakenIds(take) ?? []
    const known = [
      limitsOf(first, { inFlight: 3 }),
      limitsOf(second, { inFlight: 1 }),
      limitsOf(third, { inFlight: 1 }),
    ]
    const next = await recordAndTakeNext(ctx.db, claim, { ended: [], inFlight, limits: limitTo(4, known) })
    expect(countTaken(next, backlogs)).toEqual([0, 2, 2])
    expect((await readDrain(ctx))?.inFlight.toSorted()).toEqual([...inFlight, ...(getTakenIds(next) ?? [])].toSorted())
  })

  test('of a webhook are limited to its concurrency, those in flight included', async () => {
    const backlogs = await createTestBacklogs(ctx, 30, 30)
    const [first, second] = backlogs
    const limits = [limitsOf(first, { concurrency: 4 }), limitsOf(second, { concurrency: 8 })]
    const { claim, take } = await claimWith(limitTo(100, limits))
    expect([countTaken(take, backlogs), take?.hasMore]).toEqual([[4, 8], false])
    const endedNow = endedOf(first, first.uuids.slice(0, 3))
    const inFlight = [...first.uuids.slice(3, 4), ...second.uuids.slice(0, 8)]
    const next = await recordAndTakeNext(ctx.db, claim, {
      ended: endedNow,
      inFlight,
      limits: limitTo(100, [
        limitsOf(first, { concurrency: 4, inFlight: 1 }),
        // Its concurrency was reset while its requests were in flight.
        limitsOf(second, { concurrency: 1, inFlight: 8 }),
      ]),
    })
    expect([getTakenIds(next), next?.hasMore]).toEqual([first.uuids.slice(4, 7), false])
  })

  test('of a webhook that the worker does not know are limited to one', async () => {
    const backlogs = await createTestBacklogs(ctx, 5, 5)
    const [first, second] = backlogs
    const { claim, take } = await claimWith(limitTo(10, [limitsOf(first, { concurrency: 3 })]))
    expect(countTaken(take, backlogs)).toEqual([3, 1])
    const webhooks = [
      limitsOf(first, { concurrency: 3, inFlight: 3 }),
      limitsOf(second, { concurrency: 1, inFlight: 1 }),
    ]
    const step = { ended: [], inFlight: getTakenIds(take) ?? [], limits: limitTo(10, webhooks) }
    expect(await recordAndTakeNext(ctx.db, claim, step)).toEqual({ deliveries: [], hasMore: false })
  })

  test('of a receiver without a response are limited to one, those in flight included', async () => {
    const backlogs = await createTestBacklogs(ctx, 5, 5)
    const [first, second] = backlogs
    await setHealth(ctx, second.webhookId, { unreachableCount: 1 })
    const { claim, take } = await claimWith(
      limitTo(
        10,
        backlogs.map((backlog) => limitsOf(backlog, { concurrency: 2 })),
      ),
    )
    expect(countTaken(take, backlogs)).toEqual([2, 1])
    expect(takenOf(take, second)).toMatchObject([{ unreachableCount: 1 }])
    const webhooks = [limitsOf(first, { inFlight: 2 }), limitsOf(second, { inFlight: 1 })]
    const step = { ended: [], inFlight: getTakenIds(take) ?? [], limits: limitTo(10, webhooks) }
    expect(countTaken(await recordAndTakeNext(ctx.db, claim, step), backlogs)).toEqual([3, 0])
  })

  test('of slow and unresponsive receivers together are limited to `slow`', async () => {
    const backlogs = await createTestBacklogs(ctx, 10, 10, 10, 10)
    const [slow, unresponsive, fast, otherSlow] = backlogs
    await setHealth(ctx, unresponsive.webhookId, { unreachableCount: 2 })
    const known = [
      limitsOf(slow, { isSlow: true }),
      limitsOf(unresponsive),
      limitsOf(fast),
      limitsOf(otherSlow, { isSlow: true }),
    ]
    const { claim, take } = await claimWith(limitTo(100, known, 4))
    expect([countTaken(take, backlogs), take?.hasMore]).toEqual([[2, 1, 10, 1], true])
    await releaseUnacknowledgedDrain(ctx.db, claim)
    const { claim: next, take: without } = await claimWith(limitTo(100, known, 0))
    expect([countTaken(without, backlogs), without?.hasMore]).toEqual([[0, 0, 10, 0], true])
    await releaseUnacknowledgedDrain(ctx.db, next)
    expect(countTaken(await takeWith(limitTo(6, known, 4)), backlogs)).toEqual([2, 1, 2, 1])
  })

  test('that a worker has used up or exceeded are not dealt, and more is reported', async () => {
    const [backlog] = await createTestBacklogs(ctx, 3)
    const { claim } = await claimWith(limitTo(1))
    const step = { ended: [], inFlight: backlog.uuids.slice(0, 1) }
    for (const total of [0, -7]) {
      const limits = limitTo(total, [limitsOf(backlog, { inFlight: 1 })])
      expect(await recordAndTakeNext(ctx.db, claim, { ...step, limits })).toEqual({ deliveries: [], hasMore: true })
    }
    expect(await readDrain(ctx)).toMatchObject({ token: claim.tokens[0], inFlight: step.inFlight })
    const last = { ended: endedOf(backlog, step.inFlight), inFlight: [], limits: limitTo(0) }
    expect(await recordAndTakeNext(ctx.db, claim, last)).toEqual({ deliveries: [], hasMore: true })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(await readStatuses(backlog.uuids)).toEqual(['SUCCEEDED', 'PENDING', 'PENDING'])
  })
})

describe('a take', () => {
  test('leaves out a paused webhook, and has it again after the pause', async () => {
    const backlogs = await createTestBacklogs(ctx, 3, 3)
    const [paused, free] = backlogs
    await setHealth(ctx, paused.webhookId, pauseFor(1))
    const { claim, take } = await claimWith(limitTo(10, [limitsOf(free, { concurrency: 2 })]))
    expect([countTaken(take, backlogs), take?.hasMore]).toEqual([[0, 2], false])
    await setHealth(ctx, paused.webhookId, { pausedUntil: minutesFromNow(-1) })
    const limits = limitTo(10, [limitsOf(free, { concurrency: 2, inFlight: 2 })])
    const next = await recordAndTakeNext(ctx.db, claim, { ended: [], inFlight: getTakenIds(take) ?? [], limits })
    expect(next?.deliveries).toMatchObject([{ uuid: paused.uuids[0], unreachableCount: 3 }])
  })

  test('takes nothing of a workspace that was suspended meanwhile', async () => {
    const [backlog] = await createTestBacklogs(ctx, 4)
    const { claim, take } = await claimWith(limitTo(2, [limitsOf(backlog)]))
    const [first = '', second = ''] = getTakenIds(take) ?? []
    await suspendWorkspace(ctx)
    const limits = limitTo(10, [limitsOf(backlog, { inFlight: 1 })])
    const step = { ended: endedOf(backlog, [first]), inFlight: [second], limits }
    expect(await recordAndTakeNext(ctx.db, claim, step)).toEqual({ deliveries: [], hasMore: false })
    expect(await readDrain(ctx)).toMatchObject({ inFlight: [second] })
    const last = { ended: endedOf(backlog, [second]), inFlight: [], limits }
    expect(await recordAndTakeNext(ctx.db, claim, last)).toEqual({ deliveries: [], hasMore: false })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(await readStatuses(backlog.uuids)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'PENDING', 'PENDING'])
  })

  test('fails the deliveries of disabled and deleted webhooks while it takes others', async () => {
    const backlogs = await createTestBacklogs(ctx, 3, 4, 5)
    const [disabled, deleted, enabled] = backlogs
    await setHealth(ctx, disabled.webhookId, pauseFor(1))
    await updateWebhook(ctx, disabled.webhookId, { enabled: false })
    await deleteWebhook(ctx, deleted.webhookId)
    const take = await takeWith(
      limitTo(
        2,
        backlogs.map((backlog) => limitsOf(backlog)),
      ),
    )
    expect(take).toMatchObject({ hasMore: true })
    expect(getTakenIds(take)).toEqual(enabled.uuids.slice(0, 2))
    expect(await readStatuses(disabled.uuids)).toEqual(disabled.uuids.map(() => 'FAILED The webhook was disabled'))
    expect(await readStatuses(deleted.uuids)).toEqual(deleted.uuids.map(() => 'FAILED The webhook was deleted'))
    expect(await readStatuses(enabled.uuids)).toEqual(enabled.uuids.map(() => 'PENDING'))
    expect(await readDrain(ctx)).toMatchObject({ inFlight: enabled.uuids.slice(0, 2) })
  })

  test('does not fail deliveries of a disabled webhook that are in flight', async () => {
    const backlogs = await createTestBacklogs(ctx, 3, 2)
    const [disabled, enabled] = backlogs
    const { claim } = await claimWith(limitTo(1))
    await updateWebhook(ctx, disabled.webhookId, { enabled: false })
    const [inFlight = '', ...waiting] = disabled.uuids
    const step = { ended: [], inFlight: [inFlight], limits: limitTo(1) }
    expect(getTakenIds(await recordAndTakeNext(ctx.db, claim, step))).toEqual(enabled.uuids.slice(0, 1))
    expect(await readStatuses(disabled.uuids)).toEqual([
      'PENDING',
      ...waiting.map(() => 'FAILED The webhook was disabled'),
    ])
  })

  test('fails up to 500 deliveries of several disabled webhooks, and reports the rest', async () => {
    const [first, second] = await createTestBacklogs(ctx, 300, 300)
    for (const { webhookId } of [first, second]) await updateWebhook(ctx, webhookId, { enabled: false })
    expect(await takeWith(limitTo(5))).toEqual({ deliveries: [], hasMore: true })
    expect(await countDeliveries(ctx)).toEqual({ FAILED: 500, PENDING: 100 })
    expect(await takeWith(limitTo(5))).toEqual({ deliveries: [], hasMore: false })
    expect(await countDeliveries(ctx)).toEqual({ FAILED: 600 })
  })
})
