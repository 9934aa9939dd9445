/** What a receiver that does not respond means for the other webhooks of its workspace. */
import type { WebhookId } from '@rapport/core/kernel/ids.ts'
import { drainJobOf } from '@rapport/core/work/queues.ts'
import { resetPause } from '@rapport/core/webhooks/health/webhook-health.ts'
import { countDeliveries, createTestWebhook, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDeps, drain, shortTimings } from '../../test/fixtures.ts'
import { defaultTimings } from '../process/worker-timings.ts'
import { openOutboundHttp } from '../webhook-delivery/outbound-http.ts'
import { createReceiverMemory } from '../webhook-delivery/receiver-memory.ts'
import { drainWebhooks } from './drain-webhooks.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))
const receiver = useForTest(() => startHttpReceiver())
let webhookId: WebhookId
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx, { url: receiver.url })).id
})

const run = (overrides: Partial<typeof deps> = {}) => drain({ ...deps, ...overrides }, ctx)

describe('a receiver that does not respond', () => {
  const hanging = useForTest(() => startHttpReceiver(() => new Promise(() => {})))
  let hangingId: WebhookId
  /** No request times out: closing the connections ends it. */
  const timings = { ...shortTimings, requestTimeoutMs: 600_000 }
  const areOthersDone = (count: number) =>
    waitUntil(async () => (await countDeliveries(ctx))['SUCCEEDED'] === count, {
      describe: 'the deliveries of the other webhook are done',
    })
  beforeEach(async () => {
    hangingId = (await createTestWebhook(ctx, { url: hanging.url })).id
    await addBacklog(ctx, hangingId, 50)
  })

  test('delays no other webhook of its workspace', async () => {
    await addBacklog(ctx, webhookId, 50)
    const http = openOutboundHttp([...testSettings.allowedNetworks], { timings })
    const draining = run({ http, timings })
    await hanging.waitFor(1)
    await areOthersDone(50)
    expect(hanging.requests).toHaveLength(1)
    await http.close()
    await draining
  })

  test('delays no delivery that is created while it hangs, with or without a job', async () => {
    const http = openOutboundHttp([...testSettings.allowedNetworks], { timings: defaultTimings })
    let allowed = 0
    const [minDrainLookMs, maxDrainLookMs] = [20, 50]
    const looking = { ...shortTimings, minDrainLookMs, maxDrainLookMs }
    const control = { onProgress: () => {}, allowNextJob: () => void (allowed += 1) }
    const draining = drainWebhooks({ ...deps, http, timings: looking }, drainJobOf(ctx.workspaceId), control)
    await hanging.waitFor(1)
    await waitUntil(() => allowed > 0, { describe: 'the next job may start' })
    await addBacklog(ctx, webhookId, 1)
    await areOthersDone(1)
    await http.close()
    await draining

    const idle = { ...shortTimings, minDrainLookMs: 3_600_000 }
    const http2 = openOutboundHttp([...testSettings.allowedNetworks], { timings: defaultTimings })
    await resetPause(ctx, hangingId)
    const before = hanging.requests.length
    const drainingAgain = run({ http: http2, timings: idle })
    await hanging.waitFor(before + 1)
    await addBacklog(ctx, webhookId, 1)
    expect(await run({ http: http2, timings: idle })).toMatchObject({ delivered: 0 })
    await areOthersDone(2)
    await http2.close()
    await drainingAgain
  })

  test('of many, at most half of the quota, also after the worker was restarted', async () => {
    for (let n = 0; n < 19; n++) {
      const { id } = await createTestWebhook(ctx, { url: hanging.url })
      await addBacklog(ctx, id, 1)
      await setHealth(ctx, id, { unreachableCount: 2 })
    }
    await setHealth(ctx, hangingId, { unreachableCount: 2 })
    await addBacklog(ctx, webhookId, 100)
    // On a busy machine, a response may take longer than a second.
    const restarted = { ...(await createTestDeps(database.db, { timings })), receivers: createReceiverMemory(60_000) }
    const draining = drain(restarted, ctx)
    await areOthersDone(100)
    expect(hanging.requests).toHaveLength(10)
    await restarted.close()
    await draining
  })
})

describe('a receiver that takes nine times as long as a fast one may', () => {
  const late = useForTest(() => startHttpReceiver(() => new Promise(() => {})))
  const timings = { ...shortTimings, requestTimeoutMs: 600_000 }
  /** Holds the requests to the late receiver, until `end` closes the connections. */
  async function startDrain({ hasFast, idleMs = 0 }: { hasFast: boolean; idleMs?: number }) {
    const { id } = await createTestWebhook(ctx, { url: late.url })
    await addBacklog(ctx, id, 50)
    if (hasFast && idleMs === 0) await addBacklog(ctx, webhookId, 50)
    // On a busy machine, a response may take longer than a second.
    const receivers = createReceiverMemory(60_000)
    const takes = (webhookId: WebhookId, durationMs: number) => {
      for (let n = 0; n < 5; n++) receivers.adapt(ctx.workspaceId, webhookId, [{ responseStatus: 200, durationMs }])
    }
    takes(id, 540_000)
    if (hasFast) {
      const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() - idleMs)
      takes(webhookId, 10)
      clock.mockRestore()
    }
    const deps = { ...(await createTestDeps(database.db, { timings })), receivers }
    const draining = drain(deps, ctx)
    return async () => {
      await deps.close()
      await draining
    }
  }

  test('has two of twenty requests while another receiver of its workspace is fast', async () => {
    const end = await startDrain({ hasFast: true })
    await waitUntil(async () => (await countDeliveries(ctx))['SUCCEEDED'] === 50, {
      describe: 'the deliveries of the fast webhook are done',
    })
    expect(late.requests).toHaveLength(2)
    await end()
  })

  test.each([
    ['no receiver is fast', { hasFast: false }],
    ['the fast one had no attempt for a minute', { hasFast: true, idleMs: 60_000 }],
  ])('has half of the requests of its workspace if %s', async (_case, receivers) => {
    const end = await startDrain(receivers)
    await late.waitFor(10)
    expect(late.requests).toHaveLength(10)
    await end()
  })
})
