/** A whole Rapport for measuring, on a fresh database: PostgreSQL and Redis as in earnest, and every program a process of its own. */
import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFirstWorkspace } from '@rapport/core/auth/bootstrap.ts'
import { readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { nodeFlags } from '@rapport/core/runtime/node-flags.ts'
import { type Ctx, settingsFrom } from '@rapport/core/request/context.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { goodCertificate } from '@rapport/testing/network/certificates.ts'
import { findRedisServer } from '@rapport/testing/redis/redis-binary.ts'
import pg from 'pg'
import { startLoadGenerator } from './load.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { hear, isAnswering, isListening, openProcesses, until } from './processes.ts'
import type { Receipt } from './receiver.ts'

export interface Workspace {
  ctx: Ctx
  key: string
}

export interface Server {
  child: ChildProcess
  url: string
}

export type Installation = Awaited<ReturnType<typeof install>>

type Closers = (() => Promise<unknown>)[]

const open = new Set<Closers>()

/** For who is interrupted. */
export async function closeInstallations(): Promise<void> {
  await Promise.all([...open].map(close))
}

/** Runs `work` on an installation of its own, and clears away whatever of it there is by then. */
export async function onInstallation<Result>(work: (installation: Installation) => Promise<Result>): Promise<Result> {
  const closers: Closers = []
  open.add(closers)
  try {
    return await work(await install(closers))
  } finally {
    open.delete(closers)
    await close(closers)
  }
}

/** What was opened last goes first. */
async function close(closers: Closers): Promise<void> {
  for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer()
}

async function install(closers: Closers) {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  closers.push(() => rm(directory, { recursive: true, force: true }))
  const postgres = await startEmbeddedPostgres({ directory, durable: true })
  closers.push(() => postgres.stop())
  const databaseUrl = postgres.url('bench')
  await ensureDatabase(postgres, 'bench')
  await migrate(databaseUrl)
  const database = openDatabase(databaseUrl, { applicationName: 'bench', onError: () => {} })
  closers.push(() => database.close())
  // Without a time limit on statements: it fills tables with a million rows.
  const client = new pg.Client({ connectionString: databaseUrl }).on('error', () => {})
  await client.connect()
  closers.push(() => client.end())
  const processes = openProcesses()
  closers.push(() => processes.close())

  /** Of the programs that are started from now on. */
  const environment: Record<string, string> = {
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: 'http://127.0.0.1:9',
    MAIL_FROM: 'bench@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
    SECRET_KEY: 'for measuring only, forty characters or more',
    TRUST_PROXY: 'loopback',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    LOG_LEVEL: 'error',
  }
  let redisPort: number | undefined

  async function startServer(script: string, path: string, execArgv: string[] = []): Promise<Server> {
    const port = String(await findFreePort())
    const child = processes.fork(script, { env: { ...environment, PORT: port }, execArgv })
    const url = `http://127.0.0.1:${port}`
    await until(() => isAnswering(url + path), { everyMs: 5, timeoutMs: 30_000 })
    return { child, url }
  }

  /** The limits and the queues are there from now on; again where it was, when it has been ended. */
  async function startRedis(): Promise<ChildProcess> {
    redisPort ??= await findFreePort()
    const parameters = ['--port', String(redisPort), '--bind', '127.0.0.1', '--dir', directory, '--loglevel', 'warning']
    const keeping = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction']
    const child = processes.spawn(await findRedisServer(), [...parameters, ...keeping])
    await until(() => isListening(redisPort ?? 0), { timeoutMs: 30_000 })
    environment['REDIS_URL'] = `redis://127.0.0.1:${redisPort}`
    return child
  }

  /** Redis loses all that it had. */
  async function flushRedis(): Promise<void> {
    if (redisPort === undefined) return
    const socket = connect(redisPort, '127.0.0.1').on('error', () => {})
    socket.write('FLUSHALL\r\n')
    await once(socket, 'data')
    socket.destroy()
  }

  /** A worker says nothing when it is ready: it is once it has its place in the table of workers. */
  async function startWorker(): Promise<ChildProcess> {
    const ids = async () => (await client.query<{ id: string }>('select id from workers')).rows.map(({ id }) => id)
    const before = new Set(await ids())
    const child = processes.fork('../../worker/src/main.ts', { env: environment, execArgv: nodeFlags })
    const isThere = async () => (await ids()).some((id) => !before.has(id))
    await until(isThere, { everyMs: 5, timeoutMs: 30_000 })
    return child
  }

  /** A mail server that takes everything. Who is sent to, it tells. */
  async function startSink() {
    const child = processes.fork('sink.ts')
    const port = await hear<number>(child)
    environment['SMTP_URL'] = `smtp://127.0.0.1:${port}`
    async function takeReceipts(): Promise<string[]> {
      child.send('report')
      return hear<string[]>(child)
    }
    return { port, takeReceipts }
  }

  /** A receiver of webhooks. Programs that are started after one over TLS trust its certificate. */
  async function startReceiver({ tls = false } = {}) {
    if (tls) {
      const file = join(directory, 'receiver.pem')
      await writeFile(file, goodCertificate)
      environment['NODE_EXTRA_CA_CERTS'] = file
    }
    const child = processes.fork('receiver.ts', { parameters: tls ? ['--tls'] : [] })
    const port = await hear<number>(child)
    async function takeReceipts(): Promise<Receipt[]> {
      child.send('report')
      const receipts = await hear<[string, string, string][]>(child)
      return receipts.map(([to, id, at]) => [to, id, BigInt(at)])
    }
    return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, takeReceipts }
  }

  async function createWorkspace(): Promise<Workspace> {
    const { workspaceId, apiKey } = await createFirstWorkspace(databaseUrl)
    const settings = settingsFrom(readWorkerConfig(environment))
    return {
      key: apiKey,
      ctx: { db: database.db, settings, workspaceId, actor: { kind: 'system' }, requestId: 'bench' },
    }
  }

  return {
    client,
    database,
    environment,
    processes,
    createWorkspace,
    startApi: () => startServer('../../api/src/main.ts', '/ready', nodeFlags),
    /** Fastify and pg with nothing besides, on the same database. */
    startBare: () => startServer('bare-server.ts', '/'),
    startLoadGenerator: () => startLoadGenerator(processes),
    flushRedis,
    startReceiver,
    startRedis,
    startSink,
    startWorker,
    /** When nothing is due any more. */
    untilDone: () =>
      until(async () => {
        const { rowCount } = await client.query(
          `(select from outbox limit 1) union all (select from deliveries where status = 'PENDING' limit 1)`,
        )
        return rowCount === 0
      }),
  }
}

const run = randomInt(256)
let calls = 0

/** One request of the bench itself, each from another address. Fails unless it is answered 2xx. */
export async function call<Body extends object>(
  { url }: Pick<Server, 'url'>,
  key: string,
  [route, body]: [route: string, body?: unknown],
): Promise<Body> {
  const [method = '', path = ''] = route.split(' ')
  calls += 1
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'x-forwarded-for': `11.${run}.${(calls >> 8) & 255}.${calls & 255}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${route} answered ${response.status}: ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as Body
}
