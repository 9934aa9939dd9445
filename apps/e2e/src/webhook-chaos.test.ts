/** WEBHOOK_ATTACK=long makes it 20,000 deliveries, and some minutes for each backend. */
import { setTimeout as pause } from 'node:timers/promises'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { expect, onTestFinished, test } from 'vitest'
import { startRestartablePostgres } from './restartable-postgres.ts'
import { queueBackends, startStack } from './stack.ts'
import { type ChaosRun, type ChaosPlan, randomFrom, startChaosRun } from './webhook-chaos.ts'

type Fault = Parameters<ChaosRun['injectFault']>[0]

const isLong = inheritedEnvironment()['WEBHOOK_ATTACK'] === 'long'
/** Another course of events each time, and part of the title of a test that fails. */
const seed = Math.floor(Math.random() * 2_147_483_646) + 1

const plan: ChaosPlan = isLong
  ? { workspaces: 3, webhooksPerWorkspace: 10, contactsPerWorkspace: 670, workers: 3, pauseMs: 200 }
  : { workspaces: 2, webhooksPerWorkspace: 6, contactsPerWorkspace: 60, workers: 2, pauseMs: 30 }

/** How often each fault happens. */
const times: Partial<Record<Fault, number>> = isLong
  ? { kill: 30, terminate: 5, emptyRedis: 6, crashRedis: 4, freezeRedis: 4, disable: 6, remove: 4, rotate: 6 }
  : { kill: 2, terminate: 1, emptyRedis: 1, freezeRedis: 1, disable: 1, remove: 1, rotate: 1 }
const timeoutMs = isLong ? 900_000 : 120_000

test.for(queueBackends)(
  `under every fault the books of webhooks balance, queues in %s (seed ${seed})`,
  { timeout: timeoutMs },
  async (backend, { annotate }) => {
    const random = randomFrom(seed)
    const server = isLong ? await startRestartablePostgres() : undefined
    const stack = await startStack(backend, {}, server?.database)
    onTestFinished(() => stack.close())
    const attack = await startChaosRun(stack, plan, random)
    onTestFinished(() => attack.receiver.close())
    await attack.receiver.waitFor(10, 20_000)

    const faults = Object.entries(times)
      .flatMap(([fault, count]) => Array.from({ length: count }, () => fault as Fault))
      .filter((fault) => stack.redis || !fault.endsWith('Redis'))
      .map((fault) => ({ fault, at: random() }))
      .toSorted((a, b) => a.at - b.at)
    const freezing: Promise<void>[] = []
    for (const [index, { fault }] of faults.entries()) {
      if (server && (index === 5 || index === 25)) freezing.push(attack.injectFault('freeze'))
      if (server && index % 15 === 10) await server.restart()
      await pause(random() * 400)
      await attack.injectFault(fault)
    }
    await Promise.all(freezing)
    await attack.finish(timeoutMs / 2)

    const { faults: mistakes, ...books } = await attack.readBooks()
    await annotate(JSON.stringify({ ...books, mistakes, deaths: attack.deaths(), ...attack.counts }))
    expect(mistakes).toEqual({
      receivedTwice: 0,
      receivedUnknown: 0,
      succeededNotReceived: 0,
      failedWithoutAttemptButReceived: 0,
      open: 0,
      missing: 0,
    })
    // A worker has at most twenty requests of a workspace out.
    expect(books.statuses['INTERRUPTED'] ?? 0).toBeLessThanOrEqual(attack.deaths() * 20 * plan.workspaces)
  },
)
