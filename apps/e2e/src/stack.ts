import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startProcess, type StartedProcess } from '@rapport/testing/processes/processes.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { startSmtpReceiver, type SmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { createUnreliableRedis, type UnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'

export const queueBackends = ['redis', 'postgres'] as const
export type QueueBackend = (typeof queueBackends)[number]

/** The backends of a test of faults. At the gate, workers are killed with each: by some tests with Redis, by others without. */
export const chooseBackends = ({ gate }: { gate: QueueBackend }): readonly QueueBackend[] =>
  isFullRun ? queueBackends : [gate]

export interface ApiResponse<Body> {
  status: number
  headers: Headers
  body: Body
}

export interface Stack {
  api: Api
  database: TestDatabase
  /** The environment of the API and the worker. */
  env: Record<string, string>
  /** Undefined if the queues are in PostgreSQL. */
  redis: UnreliableRedis | undefined
  inbox: SmtpReceiver
  /** All API processes that were started, oldest first. */
  apis: StartedProcess[]
  /** All worker processes that were started, oldest first. */
  workers: StartedProcess[]
  startApi(): Promise<StartedProcess>
  /** Starts one more API, on a port of its own. */
  startAnotherApi(): Promise<Api>
  /** Of the release in `directory`; default: this one. */
  startWorker(directory?: string): Promise<StartedProcess>
  /** Sends SIGTERM to every process, and fails if one does not exit with code 0. */
  close(): Promise<void>
}

/** Long enough for processes to start on a busy machine. */
export const timeoutMs = 60_000

interface StackOptions {
  /** Default: a new database. */
  database?: TestDatabase | undefined
  /** `real`: the worker of production. The default recovers, polls and times out sooner. */
  worker?: 'real' | 'none'
}

/** Starts an API process and, unless the test needs none, a worker process. */
export async function startStack(
  backend: QueueBackend,
  extra: Record<string, string> = {},
  options: StackOptions = {},
): Promise<Stack> {
  const database = options.database ?? (await createTestDatabase())
  const redis = backend === 'redis' ? await createUnreliableRedis() : undefined
  const inbox = await startSmtpReceiver()
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    DATABASE_URL: database.url,
    ...(redis && { REDIS_URL: redis.url }),
    SMTP_URL: inbox.url,
    PORT: String(port),
    PUBLIC_URL: url,
    MAIL_FROM: 'hello@rapport.example',
    SECRET_KEY: 'for tests only: forty characters or more of it',
    TRUST_PROXY: 'loopback',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    // No name server.
    DNS_SERVER: '127.0.0.1:1',
    LOG_LEVEL: 'info',
    QUOTA_CONFIRMATIONS: '0',
    ...extra,
  }
  const apis: StartedProcess[] = []
  const workers: StartedProcess[] = []

  async function startApi() {
    const started = await startProcess({ script: 'apps/api/src/main.ts', env, readyUrl: `${url}/ready`, timeoutMs })
    apis.push(started)
    return started
  }

  async function startAnotherApi() {
    const port = await findFreePort()
    const url = `http://127.0.0.1:${port}`
    const ownEnv = { ...env, PORT: String(port) }
    apis.push(await startProcess({ script: 'apps/api/src/main.ts', env: ownEnv, readyUrl: `${url}/ready`, timeoutMs }))
    return createApi(url)
  }

  async function startWorker(directory = '') {
    const worker = await startProcess({
      script: join(directory, options.worker === 'real' ? 'apps/worker/src/main.ts' : 'apps/worker/test/main.ts'),
      env,
      readyPattern: /worker ready/,
      timeoutMs,
    })
    workers.push(worker)
    return worker
  }

  async function close() {
    const running = [...apis, ...workers].filter((program) => program.isRunning)
    for (const program of running) program.kill('SIGTERM')
    const ends = await Promise.all(running.map((program) => program.exited))
    await inbox.close()
    await redis?.close()
    await database.close()
    const failed = ends.filter((end) => end.code !== 0)
    if (failed.length > 0) throw new Error(`A process did not exit with code 0: ${JSON.stringify(failed)}`)
  }

  await Promise.all([startApi(), options.worker === 'none' ? undefined : startWorker()])
  return {
    api: createApi(url),
    env,
    database,
    redis,
    inbox,
    apis,
    workers,
    startApi,
    startAnotherApi,
    startWorker,
    close,
  }
}

/** Counts unfinished work: rows of `work` and PENDING deliveries. */
export async function countOpenWork({ database }: Pick<Stack, 'database'>): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select (select count(*) from work)::int + (select count(*) from deliveries where status = 'PENDING')::int as count`,
  )
  return rows[0]?.count ?? 0
}

interface Call {
  key?: string
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged, with the content type in `headers`. */
  raw?: string | Buffer<ArrayBuffer>
  headers?: Record<string, string>
}

export type Api = ReturnType<typeof createApi>

/** Creates an HTTP client. Each call has another client IP, so that no call exceeds a rate limit. */
export function createApi(url: string) {
  let calls = 0
  async function call<Body>(
    method: string,
    path: string,
    { key, body, raw, headers }: Call = {},
  ): Promise<ApiResponse<Body>> {
    calls += 1
    const response = await fetch(path.startsWith('http') ? path : url + path, {
      method,
      redirect: 'manual',
      headers: {
        'x-forwarded-for': `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`,
        ...(key && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(raw !== undefined && { body: raw }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as Body }
  }

  /** Creates a workspace with an ADMIN key. `email` is the address of its owner. */
  async function createWorkspace(): Promise<{ key: string; workspaceId: string; email: string }> {
    const email = `owner-${calls}@example.com`
    const signup = await call<{ token: string; workspace: { id: string } }>('POST', '/auth/signup', {
      body: { email, password: 'a long and secret sentence', workspaceName: 'Engines & Co' },
    })
    const issued = await call<{ key: string }>('POST', '/api-keys', {
      key: signup.body.token,
      body: { name: 'Test', role: 'ADMIN' },
    })
    return { key: issued.body.key, workspaceId: signup.body.workspace.id, email }
  }

  return { url, call, createWorkspace }
}
