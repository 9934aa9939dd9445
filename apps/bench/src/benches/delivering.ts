import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { contactUpdated } from '@rapport/core/contacts/contact-events.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { postBare } from '../bare-posts.ts'
import {
  type Commits,
  createSubscribed,
  drain,
  exampleContact,
  latenciesOf,
  type Receiver,
  writeContact,
} from '../deliveries.ts'
import { type Bench, type Figure, median, type Options, takeTurns, type Target } from '../figures.ts'
import { type Installation, onInstallation, type Workspace } from '../installation.ts'
import { end } from '../processes.ts'

const size = { workspaces: 5, webhooksEach: 4 }

interface Site extends Options {
  installation: Installation
  receiver: Receiver
  workspaces: Workspace[]
  worker: ChildProcess
}

export const delivering: Bench = {
  about:
    'Webhooks beside what they are made of: a loop of POSTs over HTTP and TLS, one worker, a bare insert, a Redis that lives',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.client.query('create table bare (id uuid primary key, data json)')
      const receiver = await installation.startReceiver()
      const tlsReceiver = await installation.startReceiver({ tls: true })
      const redis = await installation.startRedis()
      const workspaces = await createSubscribed(installation, receiver, size)
      const worker = await installation.startWorker()
      const site: Site = { ...options, installation, receiver, workspaces, worker }
      const overTls = { receiver: tlsReceiver, workspaces: await createSubscribed(installation, tlsReceiver, size) }
      const drained = [
        ...(await compareDrain(site, 'webhooks, a backlog drained', { atLeast: 0.6 })),
        ...(await compareDrain({ ...site, ...overTls }, 'webhooks over TLS, a backlog drained')),
        await compareTwoWorkers(site),
      ]
      await sleep(1_000)
      const calm = await compareCalm(site)
      const withoutRedis = await compareRedis(site, redis)
      await end(worker)
      return [...drained, calm, withoutRedis]
    }),
}

/** `target` is that of the ratio to POSTs on fresh connections. */
async function compareDrain(site: Site, name: string, target?: Target): Promise<Figure[]> {
  const { installation, receiver, workspaces, worker } = site
  const count = site.quick ? 1_000 : 10_000

  /** Of a backlog: events of a body as the bare loop's. */
  async function fill(): Promise<void> {
    const records = Array.from({ length: count / size.workspaces / size.webhooksEach }, () => exampleContact)
    for (const { ctx } of workspaces) await emitMany(ctx, contactUpdated, records)
  }
  const rates = await takeTurns(site, {
    drained: () => drain(installation, receiver, { workers: [worker], fill, count }),
    fresh: () => postBare(receiver, { count, connections: 'fresh' }),
    kept: () => postBare(receiver, { count, connections: 'kept' }),
  })
  const figure = { name, unit: 'deliveries/s', values: rates.drained }
  return [
    { ...figure, beside: { name: 'POSTs on fresh connections', values: rates.fresh }, ...(target && { target }) },
    { ...figure, beside: { name: 'POSTs on kept connections', values: rates.kept } },
  ]
}

/** The backlog of one webhook: one worker at a time drains it. */
async function compareTwoWorkers(site: Site): Promise<Figure> {
  const { installation, receiver, worker } = site
  const [{ ctx }] = (await createSubscribed(installation, receiver, { workspaces: 1, webhooksEach: 1 })) as [Workspace]
  const count = site.quick ? 1_000 : 10_000

  async function fill(): Promise<void> {
    const records = Array.from({ length: 500 }, () => exampleContact)
    for (let filled = 0; filled < count; filled += records.length) await emitMany(ctx, contactUpdated, records)
  }
  const drainBy = (workers: ChildProcess[]) => drain(installation, receiver, { workers, fill, count })

  async function drainByTwo(): Promise<number> {
    const second = await installation.startWorker()
    // So that it is warm: with the other stopped, it drains a backlog alone.
    worker.kill('SIGSTOP')
    await drainBy([second]).finally(() => worker.kill('SIGCONT'))
    const rate = await drainBy([worker, second])
    await end(second)
    return rate
  }
  const rates = await takeTurns(site, { two: drainByTwo, one: () => drainBy([worker]) })
  return {
    name: 'one busy webhook with two workers, a backlog drained',
    unit: 'deliveries/s',
    values: rates.two,
    beside: { name: 'one worker', values: rates.one },
    target: { atLeast: 0.95 },
  }
}

/** One contact at a time. */
async function compareCalm(site: Site): Promise<Figure> {
  const { installation, receiver, workspaces } = site
  const [{ ctx }] = workspaces as [Workspace]
  const count = site.quick ? 20 : 150
  const pool = installation.database.pool

  async function receipt(): Promise<number> {
    await receiver.takeReceipts()
    const commits: Commits = new Map()
    for (let n = 0; n < count; n += 1) {
      await writeContact(ctx, commits)
      await sleep(40)
    }
    await installation.untilDone()
    return median(await latenciesOf(installation, commits, await receiver.takeReceipts()))
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

  const times = await takeTurns(site, { receipt, insert })
  return {
    name: 'webhooks, commit to receipt in calm, p50',
    unit: 'ms',
    values: times.receipt,
    beside: { name: 'bare INSERT', values: times.insert },
    target: { atMost: 6 },
  }
}

async function compareRedis(site: Site, redis: Awaited<ReturnType<Installation['startRedis']>>): Promise<Figure> {
  const { installation, workspaces } = site
  const [api, generator] = [await installation.startApi(), installation.startLoadGenerator()]
  const load = {
    urls: [api.url],
    key: workspaces[0]?.key ?? '',
    asks: [{ method: 'POST' as const, path: '/contacts', body: { email: 'redis{n}@example.com' } }],
    perSecond: 100,
    may503: true,
  }
  let living = redis
  const p99 = async () => (await generator.run(load, site.quick ? 1_000 : 4_000)).p99

  async function withoutRedis(): Promise<number> {
    await end(living, 'SIGKILL')
    const ms = await p99()
    living = await installation.startRedis()
    await installation.untilDone()
    return ms
  }

  const times = await takeTurns(site, { dead: withoutRedis, alive: p99 })
  return {
    name: 'POST /contacts with Redis dead, p99',
    unit: 'ms',
    values: times.dead,
    beside: { name: 'with Redis alive', values: times.alive },
    target: { atMost: 1.5 },
  }
}
