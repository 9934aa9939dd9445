/** A chaos test of webhook deliveries. WEBHOOK_ATTACK=long makes 20,000 deliveries and takes minutes per backend. */
import { setTimeout as pause } from 'node:timers/promises'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { chooseSeed, createRandom } from '@rapport/testing/runs.ts'
import { expect, onTestFinished, test } from 'vitest'
import { startRestartablePostgres } from './restartable-postgres.ts'
import { chooseBackends, queueBackends, startStack } from './stack.ts'
import { type ChaosRun, type ChaosPlan, startChaosRun } from './webhook-chaos.ts'

type Fault = Parameters<ChaosRun['injectFault']>[0]

const isLong = inheritedEnvironment()['WEBHOOK_ATTACK'] === 'long'
const seed = chooseSeed(20_261_125)

const plan: ChaosPlan = isLong
  ? { workspaces: 3, webhooksPerWorkspace: 10, contactsPerWorkspace: 670, workers: 3, pauseMs: 200 }
  : { workspaces: 2, webhooksPerWorkspace: 6, contactsPerWorkspace: 40, workers: 2, pauseMs: 220 }

/** How often each fault is injected. */
const times: Partial<Record<Fault, number>> = isLong
  ? {
      kill: 30,
      killApi: 5,
      terminate: 5,
      emptyRedis: 6,
      crashRedis: 4,
      freezeRedis: 4,
      disable: 6,
      remove: 4,
      rotate: 6,
    }
  : {
      kill: 1,
      killApi: 1,
      terminate: 1,
      emptyRedis: 1,
      crashRedis: 1,
      freezeRedis: 1,
      disable: 1,
      remove: 1,
      rotate: 1,
    }
const timeoutMs = isLong ? 900_000 : 120_000

test.for(isLong ? queueBackends : chooseBackends({ gate: 'redis' }))(
  `every delivery is accounted for under faults, queues in %s (seed ${seed})`,
  { timeout: timeoutMs },
  async (backend, { annotate }) => {
    const random = createRandom(seed)
    const server = isLong ? await startRestartablePostgres() : undefined
    const stack = await startStack(backend, {}, { database: server?.database })
    onTestFinished(() => stack.close())
    const run = await startChaosRun(stack, plan, { random, receiverRandom: createRandom(seed + 1) })
    onTestFinished(() => run.receiver.close())
    await run.receiver.waitFor(10, 20_000)

    const faults = Object.entries(times)
      .flatMap(([fault, count]) => Array.from({ length: count }, () => fault as Fault))
      .filter((fault) => stack.redis || !fault.endsWith('Redis'))
      .map((fault) => ({ fault, at: random() }))
      .toSorted((a, b) => a.at - b.at)
    const freezing: Promise<void>[] = []
    for (const [index, { fault }] of faults.entries()) {
      if (server && (index === 5 || index === 25)) freezing.push(run.injectFault('freeze'))
      if (server && index % 15 === 10) await server.restart()
      await pause(random() * 400)
      await run.injectFault(fault)
    }
    await Promise.all(freezing)
    await run.finish(timeoutMs / 2)

    const { violations, ...totals } = await run.inspectDeliveries()
    await annotate(JSON.stringify({ ...totals, violations, crashes: run.crashes(), ...run.counts }))
    expect(violations).toEqual({
      receivedTwice: 0,
      receivedUnknown: 0,
      succeededNotReceived: 0,
      failedWithoutAttemptButReceived: 0,
      open: 0,
      missing: 0,
      writtenTwice: 0,
      incomplete: 0,
    })
    // A worker has at most twenty requests per workspace in flight.
    expect(totals.statuses['INTERRUPTED'] ?? 0).toBeLessThanOrEqual(run.crashes() * 20 * plan.workspaces)
  },
)
