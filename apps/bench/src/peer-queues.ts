/**
 * Queues in PostgreSQL that run a job after a commit, installed from npm into a temporary folder, and configured as their
 * documentation recommends. Each job sends one POST.
 */
import { type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Installation } from './installation.ts'
import { installPackages } from './install-packages.ts'
import { receiveMessage } from './processes.ts'

interface PeerProgram {
  packages: readonly string[]
  /** Defines `start`, `work(post)` and `add(client, id)`, which adds a job in the transaction of the client. */
  source: string
}

const concurrency = 20

/** "If you have a high throughput job queue, we recommend that you enable batching": website/docs/performance.md. */
const graphileWorker: PeerProgram = {
  packages: ['graphile-worker@0.18.0'],
  source: `
import { run, runMigrations } from 'graphile-worker'
const preset = { worker: {
  connectionString, concurrentJobs: ${concurrency}, maxPoolSize: ${concurrency + 1},
  localQueue: { size: ${concurrency + 1} }, completeJobBatchDelay: 250, failJobBatchDelay: 250 } }
const start = () => runMigrations({ preset })
const work = (post) => run({ preset, taskList: { post: ({ id }) => post(id) } })
const add = (client, id) => client.query('select graphile_worker.add_job($1, $2)', ['post', { id }])`,
}

/**
 * LISTEN/NOTIFY for "low-latency dispatch", a full batch at once, and the heartbeat for "quick tasks": docs/api/workers.md
 * and queues.md.
 */
const pgBoss: PeerProgram = {
  packages: ['pg-boss@12.38.0'],
  source: `
import { once } from 'node:events'
import { PgBoss } from 'pg-boss'
const boss = new PgBoss({ connectionString, useListenNotify: true, max: ${concurrency + 1} })
boss.on('error', () => {})
async function start() {
  await boss.start()
  await boss.createQueue('post', { notify: true, heartbeatSeconds: 30 })
}
once(process, 'SIGTERM').then(() => boss.stop()).then(() => process.kill(process.pid, 'SIGKILL'))
const work = (post) =>
  boss.work('post', { batchSize: ${concurrency}, burstWhenBatchFull: true, perJobResults: true }, (jobs) =>
    Promise.all(jobs.map(async ({ id, data }) => {
      const isDone = await post(data.id).then(() => true, () => false)
      return { id, status: isDone ? 'completed' : 'failed' }
    })))
const add = (client, id) => boss.send('post', { id }, { db: { executeSql: (text, values) => client.query(text, values) } })`,
}

export const peerPrograms = { 'graphile-worker': graphileWorker, 'pg-boss': pgBoss } as const
export type PeerName = keyof typeof peerPrograms

const program = (source: string) => `
import pg from 'pg'
const [role, connectionString, url] = process.argv.slice(2)
${source}
const post = async (id) => {
  const response = await fetch(url, { method: 'POST', headers: { 'webhook-id': id }, body: JSON.stringify({ id }) })
  await response.arrayBuffer()
  if (!response.ok) throw new Error('HTTP ' + response.status)
}
await start()
if (role === 'worker') await work(post)
else {
  const pool = new pg.Pool({ connectionString, max: ${concurrency} }).on('error', () => {})
  // The restart of PostgreSQL also ends connections in use.
  pool.on('connect', (client) => client.on('error', () => {}))
  await pool.query('create table if not exists records (id uuid primary key, created_at timestamptz default now())')
  const commit = async (id) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query('insert into records (id) values ($1)', [id])
      await add(client, id)
      await client.query('commit')
      client.release()
    } catch (error) {
      client.release(error)
      throw error
    }
  }
  process.on('message', (id) =>
    commit(id).then(() => process.send([id, String(process.hrtime.bigint())]), () => process.send([id, null])))
}
process.send('ready')
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))`

export interface PeerQueue {
  database: string
  /** Commits a record with its job. Returns its id and the time; undefined if it failed. */
  commit: () => Promise<[id: string, at: bigint] | undefined>
  startWorker: () => Promise<ChildProcess>
}

export async function withPeerQueue<Result>(
  installation: Installation,
  { name, receiverUrl }: { name: PeerName; receiverUrl: string },
  work: (queue: PeerQueue) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-peer-'))
  try {
    const { packages, source } = peerPrograms[name]
    await installPackages(folder, [...packages, 'pg@8.16.3'])
    const script = join(folder, 'peer.mjs')
    await writeFile(script, program(source))
    await installation.client.query('create database peer')
    const database = (installation.environment['DATABASE_URL'] ?? '').replace(/\w+$/, 'peer')
    const start = async (role: 'producer' | 'worker') => {
      const parameters = [role, database, receiverUrl]
      const child = installation.processes.fork(script, {
        parameters,
        cwd: folder,
        env: {},
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      await receiveMessage(child)
      return child
    }
    const producer = await start('producer')
    const waiting = new Map<string, (committed: [string, bigint] | undefined) => void>()
    producer.on('message', ([id, at]: [string, string | null]) => {
      waiting.get(id)?.(at === null ? undefined : [id, BigInt(at)])
      waiting.delete(id)
    })
    const commit = () =>
      new Promise<[string, bigint] | undefined>((resolve) => {
        const id = randomUUID()
        waiting.set(id, resolve)
        producer.send(id)
      })
    return await work({ database, commit, startWorker: () => start('worker') })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
