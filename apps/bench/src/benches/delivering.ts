import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ctx } from '@rapport/core/request/context.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { createWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { Agent, request } from 'undici'
import { type Commits, drain, exampleContact, latenciesOf, type Receiver, writeContact } from '../deliveries.ts'
import { type Bench, type Figure, median, type Options, quantile, takeTurns } from '../figures.ts'
import { type Installation, onInstallation, type Workspace } from '../installation.ts'
import { end } from '../processes.ts'
import { contactUpdated } from '@rapport/core/contacts/contact-events.ts'

const [workspacesCount, webhooksEach, concurrency] = [5, 4, 50]

interface Site extends Options {
  installation: Installation
  receiver: Receiver
  workspaces: Workspace[]
  ctx: Ctx
}

export const delivering: Bench = {
  about:
    'Webhooks beside what they are made of: a loop of POSTs, a bare insert, receivers that answer, a Redis that lives',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.client.query('create table bare (id uuid primary key, data json)')
      const receiver = await installation.startReceiver()
      const redis = await installation.startRedis()
      const workspaces: Workspace[] = []
      for (let n = 0; n < workspacesCount; n += 1) workspaces.push(await installation.createWorkspace())
      for (const { ctx } of workspaces)
        for (let hook = 0; hook < webhooksEach; hook += 1)
          await createWebhook(ctx, { url: `${receiver.url}/${hook}`, eventTypes: ['*'] })
      const [first] = workspaces as [Workspace]
      const site: Site = { ...options, installation, receiver, workspaces, ctx: first.ctx }
      const worker = await installation.startWorker()
      const drained = await compareDrain(site, worker)
      await sleep(1_000)
      const calm = await compareCalm(site)
      const hanging = await compareHanging(site)
      const withoutRedis = await compareRedis(site, redis)
      await end(worker)
      return [drained, calm, hanging, withoutRedis]
    }),
}

async function compareDrain(site: Site, worker: ChildProcess): Promise<Figure> {
  const { installation, receiver, workspaces } = site
  const count = site.quick ? 1_000 : 10_000

  /** Of a backlog: events of a body as the bare loop's. */
  async function fill(): Promise<void> {
    const records = Array.from({ length: count / workspacesCount / webhooksEach }, () => exampleContact)
    for (const { ctx } of workspaces) await emitMany(ctx, contactUpdated, records)
  }
  const rates = await takeTurns(site, {
    drained: () => drain(installation, receiver, { worker, fill, count }),
    bare: () => postBare(receiver, count),
  })
  return {
    name: 'webhooks, a backlog drained',
    unit: 'deliveries/s',
    values: rates.drained,
    beside: { name: 'POSTs on fresh connections', values: rates.bare },
    target: { atLeast: 0.35 },
  }
}

async function postBare(receiver: Receiver, count: number): Promise<number> {
  const agent = new Agent()
  const body = JSON.stringify({ id: 'evt', type: 'contact.updated', timestamp: '', data: exampleContact })
  const headers = { 'content-type': 'application/json' }
  let left = count
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        const options = { method: 'POST', headers, body, dispatcher: agent, reset: true } as const
        await (await request(receiver.url, options)).body.dump()
      }
    }),
  )
  const tookMs = performance.now() - startedAt
  await agent.close()
  await receiver.takeReceipts()
  return (count / tookMs) * 1000
}

/** One contact at a time. */
async function compareCalm(site: Site): Promise<Figure> {
  const { installation, receiver, ctx } = site
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
    target: { atMost: 25 },
  }
}

/** The p99 of the others while one receiver of the twenty hangs, with two hundred deliveries that wait for it already. */
async function compareHanging(site: Site): Promise<Figure> {
  const { installation, receiver, workspaces, ctx } = site

  async function p99OfOthers(): Promise<number> {
    const commits: Commits = new Map()
    const writes: Promise<void>[] = []
    for (let n = 0; n < (site.quick ? 50 : 300); n += 1) {
      writes.push(writeContact(workspaces[n % workspacesCount]?.ctx ?? ctx, commits))
      await sleep(20)
    }
    await Promise.all(writes)
    await sleep(2_000)
    return quantile(await latenciesOf(installation, commits, await receiver.takeReceipts()), 0.99)
  }

  async function point(from: string, to: string) {
    const update = 'update webhooks set url = replace(url, $2, $3) where workspace_id = $1'
    await installation.client.query(update, [uuidOf(ctx.workspaceId), from, to])
  }

  async function withOneHanging(): Promise<number> {
    await point('/0', '/hang')
    const records = Array.from({ length: 200 }, () => exampleContact)
    await emitMany(ctx, contactUpdated, records)
    await sleep(2_000)
    await receiver.takeReceipts()
    const p99 = await p99OfOthers()
    await point('/hang', '/0')
    await installation.untilDone()
    await receiver.takeReceipts()
    return p99
  }

  const times = await takeTurns(site, { hanging: withOneHanging, none: p99OfOthers }, { warmUp: false })
  return {
    name: 'webhooks, commit to receipt with 1 of 20 receivers hanging, p99 of the others',
    unit: 'ms',
    values: times.hanging,
    beside: { name: 'with none hanging', values: times.none },
    target: { atMost: 3 },
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
