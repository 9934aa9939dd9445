/** A complete installation with a new database. PostgreSQL and Redis are configured as in production. */
import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFirstWorkspace } from '@rapport/core/auth/bootstrap.ts'
import { readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { nodeFlags } from '@rapport/core/runtime/node-flags.ts'
import { type Ctx, settingsFrom } from '@rapport/core/request/context.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import type { PostgresBinaries } from '@rapport/embedded-postgres/binaries.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { goodCertificate } from '@rapport/testing/network/certificates.ts'
import { findRedisServer } from '@rapport/testing/redis/redis-binary.ts'
import pg from 'pg'
import { startLoadGenerator } from './load.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { receiveMessage, isResponding, isListening, openProcesses, waitUntil } from './processes.ts'
import type { Receipt } from './receiver.ts'
import type { Arrival } from './sink.ts'

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

/** Called if the bench is interrupted. */
export async function closeInstallations(): Promise<void> {
  await Promise.all([...open].map(close))
}

/** Where the database is, if not on the PostgreSQL from npm. */
interface OtherServer {
  /** The programs of another PostgreSQL. */
  binaries?: PostgresBinaries
  /** Creates a migrated database on a server that is running. */
  createDatabase?: () => Promise<{ url: string; drop: () => Promise<void> }>
}

/** Runs `work` with a new installation and removes it afterwards. */
export async function withInstallation<Result>(
  work: (installation: Installation) => Promise<Result>,
  server: OtherServer = {},
): Promise<Result> {
  const closers: Closers = []
  open.add(closers)
  try {
    return await work(await install(closers, server))
  } finally {
    open.delete(closers)
    await close(closers)
  }
}

/** Closes in reverse order. */
async function close(closers: Closers): Promise<void> {
  for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer()
}

async function install(closers: Closers, server: OtherServer) {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  closers.push(() => rm(directory, { recursive: true, force: true }))
  // PostgreSQL runs as another user when the bench runs as root.
  await chmod(directory, 0o755)
  const databaseUrl = await createDatabase(closers, directory, server)
  const database = openDatabase(databaseUrl, { applicationName: 'bench', onError: () => {} })
  closers.push(() => database.close())
  // Without a statement timeout, as it inserts millions of rows.
  const client = new pg.Client({ connectionString: databaseUrl }).on('error', () => {})
  await client.connect()
  closers.push(() => client.end())
  const processes = openProcesses()
  closers.push(() => processes.close())

  /** The environment of the programs that are started next. */
  const environment: Record<string, string> = {
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: 'http://127.0.0.1:9',
    MAIL_FROM: 'bench@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
    SECRET_KEY: 'for measuring only, forty characters or more',
    TRUST_PROXY: 'loopback',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    LOG_LEVEL: 'error',
    QUOTA_CONFIRMATIONS: '0',
    // As bin/rapport sets it. The warm-up round fills the cache.
    NODE_COMPILE_CACHE: join(directory, 'compiled'),
  }
  let redisPort: number | undefined

  async function startServer(script: string, path: string, execArgv: string[] = []): Promise<Server> {
    const port = String(await findFreePort())
    const child = processes.fork(script, { env: { ...environment, PORT: port }, execArgv })
    const url = `http://127.0.0.1:${port}`
    await waitUntil(() => isResponding(url + path), { everyMs: 5, timeoutMs: 30_000 })
    return { child, url }
  }

  /** Programs that are started next use this Redis. A second call uses the same port. */
  async function startRedis(): Promise<ChildProcess> {
    redisPort ??= await findFreePort()
    const parameters = ['--port', String(redisPort), '--bind', '127.0.0.1', '--dir', directory, '--loglevel', 'warning']
    const persistence = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction']
    const child = processes.spawn(await findRedisServer(), [...parameters, ...persistence])
    await waitUntil(() => isListening(redisPort ?? 0), { timeoutMs: 30_000 })
    environment['REDIS_URL'] = `redis://127.0.0.1:${redisPort}`
    return child
  }

  async function flushRedis(): Promise<void> {
    if (redisPort === undefined) return
    const socket = connect(redisPort, '127.0.0.1').on('error', () => {})
    socket.write('FLUSHALL\r\n')
    await once(socket, 'data')
    socket.destroy()
  }

  /** A worker is ready when it has a row in the table `workers`. */
  async function startWorker(): Promise<ChildProcess> {
    const ids = async () => (await client.query<{ id: string }>('select id from workers')).rows.map(({ id }) => id)
    const before = new Set(await ids())
    const child = processes.fork('../../worker/src/main.ts', { env: environment, execArgv: nodeFlags })
    const isRegistered = async () => (await ids()).some((id) => !before.has(id))
    await waitUntil(isRegistered, { everyMs: 5, timeoutMs: 30_000 })
    return child
  }

  /** Starts a mail server that accepts all mails and reports them, except those to `stallingDomain`: there it hangs. */
  async function startSink({ stallingDomain = '' } = {}) {
    const child = processes.fork('sink.ts', { parameters: [stallingDomain] })
    const port = await receiveMessage<number>(child)
    environment['SMTP_URL'] = `smtp://127.0.0.1:${port}`
    async function takeArrivals(): Promise<Arrival[]> {
      child.send('report')
      return receiveMessage<Arrival[]>(child)
    }
    return { port, takeArrivals }
  }

  /** Starts a receiver of webhooks. With TLS, programs that are started next trust its certificate. */
  async function startReceiver({ tls = false } = {}) {
    if (tls) {
      const file = join(directory, 'receiver.pem')
      await writeFile(file, goodCertificate)
      environment['NODE_EXTRA_CA_CERTS'] = file
    }
    const child = processes.fork('receiver.ts', { parameters: tls ? ['--tls'] : [] })
    const port = await receiveMessage<number>(child)
    async function takeReceipts(): Promise<Receipt[]> {
      child.send('report')
      const receipts = await receiveMessage<[string, string, string][]>(child)
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
    /** Starts the baseline, on the same database. */
    startBare: () => startServer('bare-server.ts', '/'),
    startLoadGenerator: () => startLoadGenerator(processes),
    flushRedis,
    startReceiver,
    startRedis,
    startSink,
    startWorker,
    /** Waits until all work is done. */
    waitUntilDone: () =>
      waitUntil(async () => {
        const { rowCount } = await client.query(
          `(select from work limit 1) union all (select from deliveries where status = 'PENDING' limit 1)`,
        )
        return rowCount === 0
      }),
  }
}

async function createDatabase(closers: Closers, directory: string, server: OtherServer): Promise<string> {
  if (server.createDatabase) {
    const { url, drop } = await server.createDatabase()
    closers.push(drop)
    return url
  }
  const { binaries } = server
  const postgres = await startEmbeddedPostgres({ directory, durable: true, ...(binaries && { binaries }) })
  closers.push(() => postgres.stop())
  const url = postgres.url('bench')
  await ensureDatabase(postgres, 'bench')
  await migrate(url)
  return url
}

const run = randomInt(256)
let calls = 0

/** Sends a request of the bench itself, each from another client address. Fails unless the response is 2xx. */
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
  if (!response.ok) throw new Error(`${route} returned ${response.status}: ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as Body
}
