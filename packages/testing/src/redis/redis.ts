import { tmpdir } from 'node:os'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, type StartedProcess } from '../processes/processes.ts'

export interface TestRedis {
  readonly url: string
  readonly port: number
  /** Of the server that runs now; 0 while it is stopped. */
  readonly pid: number
  /** Ends the server as a crash would; what it held is gone. */
  stop(): Promise<void>
  /** Starts it again on the same port, empty. */
  start(): Promise<void>
  /** Freezes it: connections stay open and nothing answers. */
  pause(): void
  resume(): void
  /** Empties every database (FLUSHALL). */
  flush(): Promise<void>
  close(): Promise<void>
}

/** The address of the Redis that all test files share: for whoever prefixes its keys and never empties it. */
export function sharedRedisUrl(): string {
  return inject('testServices').redisUrl
}

/** Starts a Redis for this test alone, which it may stop, freeze, empty and start again. */
export async function createTestRedis(): Promise<TestRedis> {
  const binary = getRedisBinary()
  const first = await startRedisServer({ binary })
  const { port, url } = first
  let server: StartedProcess | undefined = first.process

  async function stop() {
    server?.kill('SIGKILL')
    await server?.exited
    server = undefined
  }
  return {
    url,
    port,
    get pid() {
      return server?.pid ?? 0
    },
    stop,
    async start() {
      server ??= (await startRedisServer({ binary, port })).process
    },
    pause: () => server?.kill('SIGSTOP'),
    resume: () => server?.kill('SIGCONT'),
    flush: () => withRedis(url, (redis) => redis.flushall()),
    close: stop,
  }
}

/** The program, for tests that stop and freeze a Redis of their own. */
export function getRedisBinary(): string {
  const { redisBinary } = inject('testServices')
  if ('path' in redisBinary) return redisBinary.path
  throw new Error(`This test stops and freezes a Redis of its own, which REDIS_URL cannot give. ${redisBinary.missing}`)
}

/** Starts a Redis without persistence, on a free port unless one is given. */
export async function startRedisServer(options: {
  binary: string
  port?: number
  pidDirectory?: string
  settings?: Record<string, string>
}): Promise<{ url: string; port: number; process: StartedProcess }> {
  const { binary, pidDirectory } = options
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort())
    try {
      const process = await startCommand({
        command: binary,
        parameters: redisParameters(port, options.settings),
        readyPattern: /Ready to accept connections/,
        ...(pidDirectory === undefined ? {} : { pidDirectory }),
      })
      return { url: `redis://127.0.0.1:${port}`, port, process }
    } catch (error) {
      // Somebody else may have taken the port between the look and the start.
      if (attempt === 5 || !String(error).includes('in use')) throw error
    }
  }
}

function redisParameters(port: number, given: Record<string, string> = {}): string[] {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: tmpdir(),
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    ...given,
  }
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
}

/** One question over a connection of its own, which is given up after two seconds. */
export async function withRedis(url: string, ask: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // Whoever asked hears of it by the rejected promise.
  redis.on('error', () => {})
  try {
    await redis.connect()
    await ask(redis)
  } finally {
    redis.disconnect()
  }
}
