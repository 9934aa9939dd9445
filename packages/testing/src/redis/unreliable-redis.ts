import type { StartedProcess } from '../processes/processes.ts'
import { getRedisBinary, startRedisServer, type TestRedis, withRedis } from './redis.ts'

export interface UnreliableRedis extends TestRedis {
  /** Pid of the running server; 0 while it is stopped. */
  readonly pid: number
  /** Kills the server; its data is lost. */
  stop(): Promise<void>
  /** Starts the server again on the same port, without data. */
  start(): Promise<void>
  /** Suspends the process: connections stay open, and commands get no response. */
  pause(): void
  resume(): void
}

/** Starts a Redis for one test, which can stop, pause, flush and restart it. */
export async function createUnreliableRedis(): Promise<UnreliableRedis> {
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
