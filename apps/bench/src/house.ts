/** A whole Rapport for a bench: PostgreSQL as in earnest, Redis if asked for, API and workers as processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/first-workspace.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/core/embedded-postgres.ts'
import { uuidOf } from '@rapport/core/ids.ts'
import { migrate } from '@rapport/core/migrate.ts'
import { findRedisServer } from '@rapport/core/testing/redis-binary.ts'
import pg from 'pg'

export type Backend = 'redis' | 'postgres'
export type House = Awaited<ReturnType<typeof openHouse>>

/** `close` ends all that it started. */
export async function openHouse({ backend, smtpUrl }: { backend: Backend; smtpUrl: string }) {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  const postgres = await startEmbeddedPostgres({ directory, durable: true })
  await ensureDatabase(postgres, 'bench')
  const databaseUrl = postgres.url('bench')
  await migrate(databaseUrl)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const processes = new Set<ChildProcess>()
  const redisPort = backend === 'redis' ? await startRedis(processes, directory) : undefined
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const environment = {
    DATABASE_URL: databaseUrl,
    ...(redisPort && { REDIS_URL: `redis://127.0.0.1:${redisPort}` }),
    SMTP_URL: smtpUrl,
    PORT: String(port),
    PUBLIC_URL: url,
    MAIL_FROM: 'bench@example.com',
    SECRET_KEY: 'for measuring only, forty characters or more',
    TRUST_PROXY: 'loopback',
    LOG_LEVEL: 'error',
  }
  const start = (app: 'api' | 'worker') => {
    const script = resolve(import.meta.dirname, `../../${app}/src/main.ts`)
    return startProcess(processes, [process.execPath, ...process.execArgv, script], environment)
  }
  start('api')
  await waitFor(() => isAnswering(`${url}/ready`))
  const { workspaceId, apiKey } = await createFirstWorkspace(databaseUrl)
  let calls = 0

  /** Each from another address, so that the limits stay on and out of the way. */
  async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    calls += 1
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'x-forwarded-for': `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
    return (response.status === 204 ? undefined : await response.json()) as Body
  }

  return {
    client,
    call,
    startWorker: () => start('worker'),
    flushRedis: () => (redisPort ? flush(redisPort) : Promise.resolve()),
    /** A list with so many confirmed subscribers, `<name>-<n>@example.com`. */
    async fillList(name: string, count: number): Promise<string> {
      const { id } = await call<{ id: string }>('POST', '/lists', { name })
      await client.query(
        `with people as (
           insert into contacts (workspace_id, id, email, first_name, last_name, email_subscribed_status)
           select $1, uuidv7(), $3 || '-' || n || '@example.com', 'Person ' || n, 'Number', 'SUBSCRIBED'
           from generate_series(1, $4::int) n returning id)
         insert into subscriptions (workspace_id, list_id, contact_id, status, confirmed_at)
         select $1, $2, id, 'CONFIRMED', now() from people`,
        [uuidOf(workspaceId), uuidOf(id), name, count],
      )
      await client.query('vacuum analyze')
      return id
    },
    async close() {
      await client.end()
      await Promise.all([...processes].map((child) => end(child)))
      await postgres.stop()
      await rm(directory, { recursive: true })
    },
  }
}

function startProcess(
  processes: Set<ChildProcess>,
  [command = '', ...parameters]: string[],
  env?: Record<string, string>,
) {
  const child = spawn(command, parameters, { stdio: ['ignore', 'ignore', 'inherit'], ...(env && { env }) })
  processes.add(child)
  child.once('exit', () => processes.delete(child))
  return child
}

async function startRedis(processes: Set<ChildProcess>, directory: string): Promise<number> {
  const port = await freePort()
  const settings = ['--port', String(port), '--dir', directory, '--appendonly', 'yes', '--loglevel', 'warning']
  startProcess(processes, [await findRedisServer(), ...settings])
  await waitFor(() => ask(port, 'PING').then((answer) => answer.startsWith('+PONG')))
  return port
}

async function flush(port: number) {
  await ask(port, 'FLUSHALL')
}

function ask(port: number, command: string): Promise<string> {
  return new Promise((resolveAnswer, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`))
    socket.once('data', (answer) => {
      socket.destroy()
      resolveAnswer(answer.toString())
    })
    socket.once('error', reject)
  })
}

/** Ends a process, and waits until it has ended. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolveExit) => child.once('exit', resolveExit))
  child.kill(signal)
  await ended
}

export async function waitFor(condition: () => Promise<boolean>, timeoutMs = 600_000): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs
  while (!(await condition().catch(() => false))) {
    if (Date.now() > giveUpAt) throw new Error('Waited in vain')
    await sleep(50)
  }
}

const isAnswering = async (address: string) => (await fetch(address)).ok

export function freePort(): Promise<number> {
  return new Promise((resolvePort) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolvePort(port))
    })
  })
}

/** The most memory that a process ever had, in MB. */
export async function peakMemory({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
