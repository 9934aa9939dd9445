import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { contactCreated } from '@rapport/core/contacts/contact-events.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { runPostLoop } from '../bare-posts.ts'
import {
  type Commits,
  createWorkspacesWithWebhooks,
  drain,
  exampleContact,
  computeLatenciesMs,
  type Receiver,
  writeContact,
} from '../deliveries.ts'
import { type Bench, type Figure, median, type Options, measureRounds, type Target } from '../measurements.ts'
import { type Installation, withInstallation, type Workspace } from '../installation.ts'
import { stopProcess } from '../processes.ts'

const size = { workspaces: 5, webhooksEach: 4 }
const oneWorkspace = (webhooksEach: number) => ({ workspaces: 1, webhooksEach })

interface Setup extends Options {
  installation: Installation
  receiver: Receiver
  workspaces: Workspace[]
  worker: ChildProcess
}

export const delivering: Bench = {
  about:
    'Webhook deliveries per second and latency; baselines: a loop of POSTs, one worker, a bare INSERT, a running Redis',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.client.query('create table bare (id uuid primary key, data json)')
      const receiver = await installation.startReceiver()
      const tlsReceiver = await installation.startReceiver({ tls: true })
      const redis = await installation.startRedis()
      const workspaces = await createWorkspacesWithWebhooks(installation, receiver, size)
      const worker = await installation.startWorker()
      const setup: Setup = { ...options, installation, receiver, workspaces, worker }
      const overTls = {
        receiver: tlsReceiver,
        workspaces: await createWorkspacesWithWebhooks(installation, tlsReceiver, size),
      }
      const drained = [
        ...(await compareDrain(setup, 'webhooks, a backlog drained', { atLeast: 0.5 })),
        ...(await compareDrain({ ...setup, ...overTls }, 'webhooks over TLS, a backlog drained')),
        await compareFour(setup),
        await measureSlow(setup),
        await compareTwoWorkers(setup),
      ]
      await sleep(1_000)
      const latency = await compareLatency(setup)
      const withoutRedis = await compareRedis(setup, redis)
      await stopProcess(worker)
      return [...drained, latency, withoutRedis]
    }),
}

/** `target` applies to the ratio to POSTs on fresh connections. */
async function compareDrain(setup: Setup, name: string, target?: Target): Promise<Figure[]> {
  const { installation, receiver, workspaces, worker } = setup
  const count = setup.quick ? 1_000 : 10_000

  /** Creates a backlog of events with the same body as the POST loop. */
  async function fill(): Promise<void> {
    const records = Array.from({ length: count / size.workspaces / size.webhooksEach }, () => exampleContact)
    for (const { ctx } of workspaces) await emitMany(ctx, contactCreated, records)
  }
  const rates = await measureRounds(setup, {
    drained: () => drain(installation, receiver, { workers: [worker], fill, count }),
    fresh: () => runPostLoop(receiver, { count, connections: 'fresh' }),
    kept: () => runPostLoop(receiver, { count, connections: 'kept' }),
  })
  const figure = { name, unit: 'deliveries/s', values: rates.drained }
  return [
    { ...figure, baseline: { name: 'POSTs on fresh connections', values: rates.fresh }, ...(target && { target }) },
    { ...figure, baseline: { name: 'POSTs on kept connections', values: rates.kept } },
  ]
}

/** Drains the webhooks of one workspace, which share its capacity. */
async function compareFour(setup: Setup): Promise<Figure> {
  const { installation, receiver, worker } = setup
  const count = setup.quick ? 1_000 : 10_000
  const drainOf = async (webhooks: number) => {
    const [{ ctx }] = (await createWorkspacesWithWebhooks(installation, receiver, oneWorkspace(webhooks))) as [
      Workspace,
    ]
    const records = Array.from({ length: 250 }, () => exampleContact)
    const fill = async () => {
      for (let filled = 0; filled < count; filled += records.length * webhooks)
        await emitMany(ctx, contactCreated, records)
    }
    return () => drain(installation, receiver, { workers: [worker], fill, count })
  }
  const rates = await measureRounds(setup, { four: await drainOf(4), one: await drainOf(1) })
  return {
    name: 'four webhooks of one workspace, a backlog drained',
    unit: 'deliveries/s',
    values: rates.four,
    baseline: { name: 'one webhook', values: rates.one },
    target: { atLeast: 0.9 },
  }
}

/** A receiver that needs 300 ms, with 20 concurrent requests: 67 per second at most. */
async function measureSlow(setup: Setup): Promise<Figure> {
  const { installation, receiver, worker } = setup
  const [{ ctx }] = (await createWorkspacesWithWebhooks(
    installation,
    { url: `${receiver.url}/slow/300` },
    oneWorkspace(1),
  )) as [Workspace]
  const count = setup.quick ? 100 : 500
  const records = Array.from({ length: count }, () => exampleContact)
  const fill = () => emitMany(ctx, contactCreated, records)
  const { drained } = await measureRounds(setup, {
    drained: () => drain(installation, receiver, { workers: [worker], fill, count }),
  })
  return { name: 'a webhook that responds in 300 ms, a backlog drained', unit: 'deliveries/s', values: drained }
}

/** Drains the backlog of one webhook. Only one worker at a time can do that. */
async function compareTwoWorkers(setup: Setup): Promise<Figure> {
  const { installation, receiver, worker } = setup
  const [{ ctx }] = (await createWorkspacesWithWebhooks(installation, receiver, {
    workspaces: 1,
    webhooksEach: 1,
  })) as [Workspace]
  const count = setup.quick ? 1_000 : 10_000

  async function fill(): Promise<void> {
    const records = Array.from({ length: 500 }, () => exampleContact)
    for (let filled = 0; filled < count; filled += records.length) await emitMany(ctx, contactCreated, records)
  }
  const drainBy = (workers: ChildProcess[]) => drain(installation, receiver, { workers, fill, count })

  async function drainByTwo(): Promise<number> {
    const second = await installation.startWorker()
    // Warm-up of the second worker: it drains a backlog alone while the first one is stopped.
    worker.kill('SIGSTOP')
    await drainBy([second]).finally(() => worker.kill('SIGCONT'))
    const rate = await drainBy([worker, second])
    await stopProcess(second)
    return rate
  }
  const rates = await measureRounds(setup, { two: drainByTwo, one: () => drainBy([worker]) })
  return {
    name: 'one busy webhook with two workers, a backlog drained',
    unit: 'deliveries/s',
    values: rates.two,
    baseline: { name: 'one worker', values: rates.one },
    target: { atLeast: 0.95 },
  }
}

/** Latency without other load: one contact at a time. */
async function compareLatency(setup: Setup): Promise<Figure> {
  const { installation, receiver, workspaces } = setup
  const [{ key }] = workspaces as [Workspace]
  const { child, url } = await installation.startApi()
  const agent = new Agent({ keepAlive: true })
  const count = setup.quick ? 20 : 150
  const pool = installation.database.pool

  async function receipt(): Promise<number> {
    await receiver.takeReceipts()
    const commits: Commits = new Map()
    for (let n = 0; n < count; n += 1) {
      await writeContact({ url, agent, key }, commits)
      await sleep(40)
    }
    await installation.waitUntilDone()
    return median(await computeLatenciesMs(installation, commits, await receiver.takeReceipts()))
  }

  async function insert(): Promise<number> {
    const times: number[] = []
    for (let n = 0; n < count; n += 1) {
      const startedAt = performance.now()
      await pool.query('insert into bare values ($1, $2)', [randomUUID(), JSON.stringify(exampleContact)])
      times.push(performance.now() - startedAt)
      await sleep(10)
    }
    return median(times)
  }

  const times = await measureRounds(setup, { receipt, insert })
  agent.destroy()
  await stopProcess(child)
  return {
    name: 'webhooks, latency from commit to receipt, p50',
    unit: 'ms',
    values: times.receipt,
    baseline: { name: 'bare INSERT', values: times.insert },
    target: { atMost: 7 },
  }
}

async function compareRedis(setup: Setup, redis: Awaited<ReturnType<Installation['startRedis']>>): Promise<Figure> {
  const { installation, workspaces } = setup
  const [api, generator] = [await installation.startApi(), installation.startLoadGenerator()]
  const load = {
    urls: [api.url],
    key: workspaces[0]?.key ?? '',
    requests: [{ method: 'POST' as const, path: '/contacts', body: { email: 'redis{n}@example.com' } }],
    perSecond: 100,
    allows503: true,
  }
  let currentRedis = redis
  const p99 = async () => (await generator.run(load, setup.quick ? 1_000 : 4_000)).p99

  async function withoutRedis(): Promise<number> {
    await stopProcess(currentRedis, 'SIGKILL')
    const ms = await p99()
    currentRedis = await installation.startRedis()
    await installation.waitUntilDone()
    return ms
  }

  const times = await measureRounds(setup, { down: withoutRedis, up: p99 })
  return {
    name: 'POST /contacts while Redis is down, p99',
    unit: 'ms',
    values: times.down,
    baseline: { name: 'while Redis is up', values: times.up },
    target: { atMost: 1.5 },
  }
}
