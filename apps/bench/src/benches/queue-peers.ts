import type { ChildProcess } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '@rapport/core/db/migrate.ts'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import pg from 'pg'
import { call, type Installation, withInstallation } from '../installation.ts'
import { type Bench, type Figure, formatNumber, type Options } from '../measurements.ts'
import { type PeerName, withPeerQueue } from '../peer-queues.ts'
import { stopProcess } from '../processes.ts'
import { type Latencies, openQueueLog, type QueueSide } from '../queue-log.ts'
import type { Receipt } from '../receiver.ts'

export const graphileWorker = comparePeer('graphile-worker')
export const pgBoss = comparePeer('pg-boss')

/** The lengths of the parts, in milliseconds, and how much is done in them. */
const fullRun = {
  backlog: 5_000,
  steadyMs: 15_000,
  kills: 5,
  killEveryMs: 4_000,
  recoverMs: 10_000,
  idleMs: 60_000,
  waitMs: 45_000,
}
const quickRun = {
  backlog: 200,
  steadyMs: 2_000,
  kills: 1,
  killEveryMs: 2_000,
  recoverMs: 3_000,
  idleMs: 3_000,
  waitMs: 5_000,
}

interface Outcome {
  backlogPerSecond: number
  steady: Latencies
  /** While a transaction is idle. */
  idle: Latencies
  lost: number
  repeated: number
  committed: number
  /** Whether the worker takes work again, without another restart, after PostgreSQL was restarted. */
  recovers: boolean
}

function comparePeer(name: PeerName): Bench {
  return {
    about: `A commit leads to one POST, with kills, a restart of PostgreSQL and an idle transaction; baseline: ${name}`,
    measure: async (options) => {
      const theirs = await withServer((server) => measurePeer(server, name, options))
      options.log(`${name}: ${JSON.stringify(theirs)}`)
      const ours = await withServer((server) => measureRapport(server, options))
      options.log(`Rapport: ${JSON.stringify(ours)}`)
      return toFigures(name, ours, theirs)
    },
  }
}

function toFigures(name: PeerName, ours: Outcome & { interrupted: number }, theirs: Outcome): Figure[] {
  const figure = (work: string, unit: string, pick: (outcome: Outcome) => number): Figure => ({
    name: work,
    unit,
    values: [pick(ours)],
    baseline: { name, values: [pick(theirs)] },
  })
  const { committed, interrupted } = ours
  const counts = `of ${formatNumber(committed)} and ${formatNumber(theirs.committed)}`
  const restarted = [...(ours.recovers ? [] : ['Rapport']), ...(theirs.recovers ? [] : [name])]
  const stalled = restarted.length > 0 ? `; ${restarted.join(' and ')} took no work until its worker was restarted` : ''
  return [
    figure('a backlog of commits, POSTs', 'POSTs/s', (of) => of.backlogPerSecond),
    figure('commit to receipt at 50 a second, p50', 'ms', ({ steady }) => steady.p50),
    figure('commit to receipt at 50 a second, p99', 'ms', ({ steady }) => steady.p99),
    figure('the same while a transaction is idle for a minute, p50', 'ms', ({ idle }) => idle.p50),
    figure('the same while a transaction is idle for a minute, p99', 'ms', ({ idle }) => idle.p99),
    {
      ...figure('not received, after kills of the worker and a restart of PostgreSQL', 'POSTs', ({ lost }) => lost),
      note: `${counts}; Rapport shows ${interrupted} as INTERRUPTED${stalled}`,
    },
    { ...figure('received twice or more, after the same', 'POSTs', ({ repeated }) => repeated), note: counts },
  ]
}

interface Server {
  installation: Installation
  restartPostgres: () => Promise<void>
}

/** An installation on a PostgreSQL that can be restarted. */
async function withServer<Result>(work: (server: Server) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  // PostgreSQL runs as another user when the bench runs as root.
  await chmod(directory, 0o755)
  let postgres = await startEmbeddedPostgres({ directory, durable: true })
  const { port } = postgres
  const url = postgres.url('bench')
  await ensureDatabase(postgres, 'bench')
  await migrate(url)
  const drop = async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
  async function restartPostgres() {
    await postgres.stop()
    postgres = await startEmbeddedPostgres({ directory, port, durable: true })
  }
  return withInstallation((installation) => work({ installation, restartPostgres }), {
    createDatabase: async () => ({ url, drop }),
  })
}

async function measureRapport(server: Server, options: Options): Promise<Outcome & { interrupted: number }> {
  const { installation } = server
  await installation.startRedis()
  const receiver = await installation.startReceiver()
  const { ctx, key } = await installation.createWorkspace()
  await createWebhook(ctx, { url: receiver.url, eventTypes: ['contact.created'] })
  const api = await installation.startApi()
  let count = 0
  const { environment } = installation
  const database = environment['DATABASE_URL'] ?? ''
  async function commit(): Promise<[string, bigint] | undefined> {
    count += 1
    const body = { email: `peer${count}@example.com` }
    const created = await call<{ id: string }>(api, key, ['POST /contacts', body]).catch(() => undefined)
    return created && [created.id, process.hrtime.bigint()]
  }
  async function identify(receipts: Receipt[]) {
    const rows = await query(database, `select id, data ->> 'id' as contact from events where type = 'contact.created'`)
    const contactOf = new Map(rows.map(({ id, contact }) => [id, contact ?? '']))
    return receipts.map(([, id, at]) => ({ id: contactOf.get(uuidOf(Id('evt').parse(id))) ?? '', at }))
  }
  const side = { database, commit, identify, startWorker: () => installation.startWorker() }
  const outcome = await measureSide(server, { side, receiver, options })
  const rows = await query(database, `select id from deliveries where status = 'INTERRUPTED'`)
  return { ...outcome, interrupted: rows.length }
}

async function measurePeer(server: Server, name: PeerName, options: Options): Promise<Outcome> {
  const receiver = await server.installation.startReceiver()
  options.log(`installing ${name}`)
  return withPeerQueue(server.installation, { name, receiverUrl: receiver.url }, (queue) => {
    const identify = async (receipts: Receipt[]) => receipts.map(([, id, at]) => ({ id, at }))
    return measureSide(server, { side: { ...queue, identify }, receiver, options })
  })
}

interface Measured {
  side: QueueSide
  receiver: { takeReceipts: () => Promise<Receipt[]> }
  options: Options
}

async function measureSide(server: Server, { side, receiver, options }: Measured): Promise<Outcome> {
  const run = options.quick ? quickRun : fullRun
  const log = openQueueLog(side, receiver)
  const warmUp = await side.startWorker()
  await log.commitDuring(1_000)
  await log.waitForAll(60_000)
  await stopProcess(warmUp)

  log.clear()
  await log.commitAtOnce(run.backlog)
  const first = await side.startWorker()
  await log.waitForAll(120_000)
  const backlogPerSecond = log.receiptsPerSecond()

  const steady = await log.commitDuring(run.steadyMs)
  await log.waitForAll(60_000)

  const killing = log.commitDuring((run.kills + 1) * run.killEveryMs)
  const last = await killWorkers(side, first, run)
  await server.restartPostgres()
  await killing
  // Connections and workers come back.
  await sleep(run.recoverMs)
  const recovers = await log.areReceived(await log.commitDuring(1_000), 5_000)
  // As a supervisor does.
  if (!recovers) await stopProcess(last)
  const running = recovers ? last : await side.startWorker()

  const idle = await whileIdle(side, () => log.commitDuring(run.idleMs))
  // A queue notices within two minutes that a worker is dead, or not at all.
  await log.waitForAll(run.waitMs).catch(() => undefined)
  await stopProcess(running)
  await log.take()
  const latencies = { steady: log.computeLatencies(steady), idle: log.computeLatencies(idle) }
  return { backlogPerSecond, recovers, ...latencies, ...log.count() }
}

/** Kills the worker at random moments, and starts another one each time. Returns the last. */
async function killWorkers(side: QueueSide, first: ChildProcess, { kills, killEveryMs }: typeof fullRun) {
  let worker = first
  for (let kill = 0; kill < kills; kill += 1) {
    await sleep(killEveryMs * (0.5 + Math.random() / 2))
    await stopProcess(worker, 'SIGKILL')
    worker = await side.startWorker()
  }
  return worker
}

/** Runs `work` while a transaction that has written nothing, and has a snapshot, is left idle. */
async function whileIdle<Result>({ database }: QueueSide, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: database }).on('error', () => {})
  await client.connect()
  try {
    await client.query('begin isolation level repeatable read')
    await client.query('select txid_current()')
    return await work()
  } finally {
    await client.end()
  }
}

/** With a connection of its own: PostgreSQL may have been restarted. */
async function query(database: string, text: string): Promise<Record<string, string | undefined>[]> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    return (await client.query<Record<string, string | undefined>>(text)).rows
  } finally {
    await client.end()
  }
}
