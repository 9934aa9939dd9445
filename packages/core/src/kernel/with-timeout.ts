import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves as `result` does; rejects after `timeoutMs`, as a server that hangs is as good as away. The call itself goes on. */
export async function withTimeout<Result>(result: Promise<Result>, timeoutMs = 2_000): Promise<Result> {
  const timer = new AbortController()
  const timeout = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new TimeoutError(`No answer within ${timeoutMs} ms`)
  })
  timeout.catch(() => {})
  return Promise.race([result, timeout]).finally(() => timer.abort())
}

export class TimeoutError extends Error {}
