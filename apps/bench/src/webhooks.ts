/**
 * Webhooks beside what they are made of, in one run: a drained backlog and a bare loop of POSTs, commit to receipt and a
 * bare insert, receivers with and without one among them that hangs, writes with Redis and without. Rounds of both sides take turns,
 * and medians are compared. `node apps/bench/src/webhooks.ts [rounds]`
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createContact } from '@rapport/core/contacts/contacts.ts'
import { type Contact, ContactInput } from '@rapport/core/contacts/contacts.schema.ts'
import type { Ctx } from '@rapport/core/context.ts'
import { emitMany } from '@rapport/core/events.ts'
import { uuidOf } from '@rapport/core/ids.ts'
import { createWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { Agent, request } from 'undici'
import { end, install, median, quantile, until } from './installation.ts'

const rounds = Number(process.argv[2] ?? 3)
const workspacesCount = 5
const webhooksEach = 4
const concurrency = 50

const exampleContact: Contact = {
  id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  phone: null,
  company: 'Analytical Engines',
  customFieldValues: { plan: 'pro' },
  tags: ['customer'],
  emailSubscribedStatus: 'SUBSCRIBED',
  lastActivityAt: '2026-11-21T06:35:49.123Z',
  source: null,
  createdAt: '2026-11-21T06:35:49.123Z',
  updatedAt: '2026-11-21T06:35:49.123Z',
}

const installation = await install()
const { database } = installation
try {
  const receiver = await installation.startReceiver()
  let redis = await installation.startRedis()
  await database.pool.query('create table bare (id uuid primary key, data json)')
  const workspaces = await Promise.all(Array.from({ length: workspacesCount }, () => installation.createWorkspace()))
  const ctxs = workspaces.map(({ ctx }) => ctx)
  for (const ctx of ctxs) {
    for (let hook = 0; hook < webhooksEach; hook++) {
      await createWebhook(ctx, { url: `${receiver.url}/${hook}`, eventTypes: ['*'] })
    }
  }

  const [bare, drained]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    bare.push(await measureBareLoop(10_000))
    drained.push(await measureDrain(10_000))
  }
  console.log(`drained ${figure(median(drained))} deliveries/s, bare loop ${figure(median(bare))} POSTs/s`)
  ratio('drained : bare loop (at least 0.35)', drained, bare)

  const worker = installation.startWorker()
  await measureCalm(20)
  await receiver.takeReceipts()
  const calm = await measureCalm(150)
  console.log(`commit to receipt p50 ${figure(calm.receipt)} ms, bare insert p50 ${figure(calm.insert)} ms`)
  ratio('commit to receipt : bare insert (under 25)', [calm.receipt], [calm.insert])

  const [without, hanging]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    without.push(await measureOthers())
    await setHanging(true)
    hanging.push(await measureOthers())
    await setHanging(false)
  }
  console.log(`others' p99 ${figure(median(hanging))} ms with one hanging, ${figure(median(without))} ms without`)
  ratio('one hanging : none (at most 3)', hanging, without)

  const api = installation.startApi()
  await until(async () => (await fetch(`${installation.apiUrl}/ready`)).ok)
  await measureWrites()
  const [alive, dead]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    alive.push(await measureWrites())
    await end(redis, 'SIGKILL')
    dead.push(await measureWrites())
    redis = await installation.startRedis()
    await untilDone()
  }
  console.log(`API p99 ${figure(median(dead))} ms with Redis dead, ${figure(median(alive))} ms with it alive`)
  ratio('Redis dead : alive (at most 1.5)', dead, alive)
  await Promise.all([end(api), end(worker)])

  /** POSTs per second on fresh connections, of a body as a webhook's. */
  async function measureBareLoop(count: number): Promise<number> {
    const agent = new Agent()
    const body = JSON.stringify({ id: 'evt', type: 'contact.updated', timestamp: '', data: exampleContact })
    let left = count
    const startedAt = performance.now()
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        while (left-- > 0) {
          const headers = { 'content-type': 'application/json' }
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

  /** Deliveries per second from the first receipt to the last outcome, of a backlog that a new worker finds. */
  async function measureDrain(count: number): Promise<number> {
    const records = Array.from({ length: count / workspacesCount / webhooksEach }, () => exampleContact)
    for (const ctx of ctxs) await emitMany(ctx, 'contact.updated', records)
    await database.pool.query('analyze')
    const worker = installation.startWorker()
    await untilDone()
    const lastAt = process.hrtime.bigint()
    await end(worker)
    const receipts = await receiver.takeReceipts()
    if (receipts.length !== count) throw new Error(`${receipts.length} of ${count} came`)
    const firstAt = receipts.map(([, , at]) => at).reduce((a, b) => (a < b ? a : b))
    return (count / Number(lastAt - firstAt)) * 1e9
  }

  async function untilDone() {
    await until(async () => (await database.pool.query('select from outbox limit 1')).rowCount === 0)
  }

  /** One contact at a time, and one bare insert. Milliseconds. */
  async function measureCalm(count: number) {
    const ctx = ctxs[0] as Ctx
    const inserts: number[] = []
    const commits = new Map<string, bigint>()
    for (let n = 0; n < count; n++) {
      const startedAt = performance.now()
      await database.pool.query('insert into bare values ($1, $2)', [randomUUID(), JSON.stringify(exampleContact)])
      inserts.push(performance.now() - startedAt)
      await sleep(10)
      await writeContact(ctx, commits)
      await sleep(40)
    }
    return { insert: median(inserts), receipt: median(await latencies(commits)) }
  }

  /** The p99 of commit to receipt at a steady pace, of those receivers that answer. */
  async function measureOthers(): Promise<number> {
    const commits = new Map<string, bigint>()
    const writes: Promise<void>[] = []
    for (let n = 0; n < 300; n++) {
      writes.push(writeContact(ctxs[n % workspacesCount] as Ctx, commits))
      await sleep(20)
    }
    await Promise.all(writes)
    await sleep(1_500)
    return quantile(await latencies(commits), 0.99)
  }

  /** One of the twenty, with two hundred deliveries that wait for it already, and more with each contact. */
  async function setHanging(isHanging: boolean) {
    const ctx = ctxs[0] as Ctx
    const [from, to] = isHanging ? ['/0', '/hang'] : ['/hang', '/0']
    await database.pool.query('update webhooks set url = replace(url, $2, $3) where workspace_id = $1', [
      uuidOf(ctx.workspaceId),
      from,
      to,
    ])
    if (isHanging) {
      await emitMany(
        ctx,
        'contact.updated',
        Array.from({ length: 200 }, () => exampleContact),
      )
      await sleep(2_000)
    } else await untilDone()
    await receiver.takeReceipts()
  }

  async function writeContact(ctx: Ctx, commits: Map<string, bigint>) {
    const { id } = await createContact(ctx, ContactInput.parse({ email: `${randomUUID()}@example.com` }))
    commits.set(id, process.hrtime.bigint())
  }

  async function latencies(commits: Map<string, bigint>): Promise<number[]> {
    await sleep(500)
    const found = await database.pool.query<{ id: string; contact: string }>(
      `select id, data ->> 'id' as contact from events where data ->> 'id' = any($1)`,
      [[...commits.keys()]],
    )
    const contactOf = new Map(found.rows.map(({ id, contact }) => [id, contact]))
    return (await receiver.takeReceipts()).flatMap(([path, id, at]) => {
      const committedAt = commits.get(contactOf.get(uuidOf(id)) ?? '')
      return committedAt === undefined || path === '/hang' ? [] : [Number(at - committedAt) / 1e6]
    })
  }

  /** The p99 of creating contacts by HTTP at a steady pace. */
  async function measureWrites(): Promise<number> {
    const apiKey = workspaces[0]?.apiKey ?? ''
    const times: number[] = []
    const calls: Promise<void>[] = []
    for (let n = 0; n < 400; n++) {
      calls.push(timeWrite(apiKey, n).then((ms) => void times.push(ms)))
      await sleep(10)
    }
    await Promise.all(calls)
    return quantile(times, 0.99)
  }

  async function timeWrite(apiKey: string, n: number): Promise<number> {
    const startedAt = performance.now()
    const response = await fetch(`${installation.apiUrl}/contacts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-forwarded-for': `10.0.${n >> 8}.${n & 255}`,
      },
      body: JSON.stringify({ email: `${randomUUID()}@example.com` }),
    })
    const text = await response.text()
    // A machine that is too busy answers 503, which takes its time as well.
    if (response.status !== 201 && response.status !== 503) throw new Error(text)
    return performance.now() - startedAt
  }
} finally {
  await installation.close()
}

function figure(value: number) {
  return value.toFixed(value < 10 ? 2 : 0)
}

/** Of each round's two sides, which had the same weather; then the median. */
function ratio(what: string, ours: number[], bare: number[]) {
  const ratios = ours.map((value, round) => value / (bare[round] ?? Number.NaN))
  console.log(`${what}: ${median(ratios).toFixed(2)} (${ratios.map((value) => value.toFixed(2)).join(', ')})`)
}
