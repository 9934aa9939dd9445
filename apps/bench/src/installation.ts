/** A whole Rapport for measuring: PostgreSQL that keeps its word, Redis, and processes to start and end. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/first-workspace.ts'
import { readWorkerConfig } from '@rapport/core/config.ts'
import { type Ctx, settingsFrom } from '@rapport/core/context.ts'
import { openDatabase } from '@rapport/core/db.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/core/embedded-postgres.ts'
import { migrate } from '@rapport/core/migrate.ts'
import { findRedisServer } from '@rapport/core/testing/redis-binary.ts'
import type { Receipt } from './receiver.ts'

const anyPort = () => 20_000 + Math.floor(Math.random() * 12_000)
const [apiPort, redisPort] = [anyPort(), anyPort()]
const path = (file: string) => resolve(import.meta.dirname, file)

export type Installation = Awaited<ReturnType<typeof install>>

export async function install() {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  const postgres = await startEmbeddedPostgres({ directory, durable: true })
  await ensureDatabase(postgres, 'bench')
  const url = postgres.url('bench')
  await migrate(url)
  const environment = {
    DATABASE_URL: url,
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    PORT: String(apiPort),
    PUBLIC_URL: `http://127.0.0.1:${apiPort}`,
    MAIL_FROM: 'bench@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
    SECRET_KEY: 'for measuring only, forty characters or more',
    TRUST_PROXY: 'loopback',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    LOG_LEVEL: 'error',
  }
  const database = openDatabase(url, { applicationName: 'bench', onError: () => {} })
  const settings = settingsFrom(readWorkerConfig(environment))
  const running = new Set<ChildProcess>()

  function keep<Child extends ChildProcess>(child: Child): Child {
    running.add(child)
    child.once('exit', () => running.delete(child))
    return child
  }
  const startApp = (app: 'api' | 'worker') =>
    keep(spawn(process.execPath, [path(`../../${app}/src/main.ts`)], { stdio: 'inherit', env: environment }))

  async function startRedis() {
    const parameters = ['--port', String(redisPort), '--bind', '127.0.0.1', '--dir', directory]
    const keeping = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction', '--loglevel', 'warning']
    return keep(spawn(await findRedisServer(), [...parameters, ...keeping], { stdio: 'ignore' }))
  }

  async function startReceiver() {
    const child = keep(fork(path('receiver.ts')))
    const [port] = (await once(child, 'message')) as [number]
    async function takeReceipts(): Promise<Receipt[]> {
      child.send('report')
      const [receipts] = (await once(child, 'message')) as [[string, string, string][]]
      return receipts.map(([to, id, at]) => [to, id, BigInt(at)])
    }
    return { url: `http://127.0.0.1:${port}`, takeReceipts }
  }

  async function createWorkspace(): Promise<{ ctx: Ctx; apiKey: string }> {
    const { workspaceId, apiKey } = await createFirstWorkspace(url)
    return { apiKey, ctx: { db: database.db, settings, workspaceId, actor: { kind: 'system' }, requestId: 'bench' } }
  }

  async function close() {
    await Promise.all([...running].map((child) => end(child)))
    await database.close()
    await postgres.stop()
    await rm(directory, { recursive: true })
  }

  return {
    database,
    apiUrl: environment.PUBLIC_URL,
    startApi: () => startApp('api'),
    startWorker: () => startApp('worker'),
    startRedis,
    startReceiver,
    createWorkspace,
    close,
  }
}

export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/** Asks until it is so. */
export async function until(isSo: () => Promise<boolean>) {
  while (!(await isSo().catch(() => false))) await sleep(20)
}

export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? 0
}

export const median = (values: readonly number[]) => quantile(values, 0.5)
