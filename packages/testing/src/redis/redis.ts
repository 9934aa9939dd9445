import { mkdir, mkdtemp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, type StartedProcess } from '../processes/processes.ts'

export interface TestRedis {
  readonly url: string
  readonly port: number
  /** Deletes all data (FLUSHALL). */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Returns the URL of the Redis that all test files share. A test must prefix its keys and must not flush it. */
export function sharedRedisUrl(): string {
  return inject('testServices').redisUrl
}

/** Starts a Redis of its own for a test that flushes it or reads all of it. */
export async function createTestRedis(): Promise<TestRedis> {
  const { url, port, process: server } = await startRedisServer({ binary: getRedisBinary() })
  const close = async () => (server.kill('SIGKILL'), void (await server.exited))
  return { url, port, flush: () => withRedis(url, (redis) => redis.flushall()), close }
}

/** Returns the path of the Redis server program. */
export function getRedisBinary(): string {
  const { redisBinary } = inject('testServices')
  if ('path' in redisBinary) return redisBinary.path
  throw new Error(`This test must start its own Redis, even with REDIS_URL. ${redisBinary.missing}`)
}

/** Starts a Redis without persistence, by default on a free port. Its folder is deleted at the end of the test run. */
export async function startRedisServer(options: {
  binary: string
  port?: number
  pidDirectory?: string
  settings?: Record<string, string>
}): Promise<{ url: string; port: number; process: StartedProcess }> {
  const { binary, pidDirectory, settings } = options
  const dir = settings?.['dir'] ?? (await createFolder(pidDirectory ?? inject('testServices').pidDirectory))
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort())
    try {
      const process = await startCommand({
        command: binary,
        parameters: redisParameters(port, { ...settings, dir }),
        readyPattern: /Ready to accept connections/,
        ...(pidDirectory === undefined ? {} : { pidDirectory }),
      })
      return { url: `redis://127.0.0.1:${port}`, port, process }
    } catch (error) {
      // Another process may have taken the port since it was found.
      if (attempt === 5 || !String(error).includes('in use')) throw error
    }
  }
}

/** Each server needs an empty folder: Redis loads the files of an earlier server. */
async function createFolder(pidDirectory: string): Promise<string> {
  const parent = join(dirname(pidDirectory), 'redis')
  await mkdir(parent, { recursive: true })
  return mkdtemp(join(parent, 'server-'))
}

function redisParameters(port: number, overrides: Record<string, string>): string[] {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    ...overrides,
  }
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
}

/** Runs `work` on a separate connection. Each command times out after two seconds. */
export async function withRedis(url: string, work: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // The caller gets the error from the rejected promise.
  redis.on('error', () => {})
  try {
    await redis.connect()
    await work(redis)
  } finally {
    redis.disconnect()
  }
}
