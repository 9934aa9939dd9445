/** Resolves as `result` does; rejects after `timeoutMs`, as a server that hangs is as good as away. The call itself goes on. */
export function withTimeout<Result>(result: Promise<Result>, timeoutMs = 2_000): Promise<Result> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new TimeoutError(`No answer within ${timeoutMs} ms`)), timeoutMs)
  return Promise.race([result, timeout.promise]).finally(() => clearTimeout(timer))
}

export class TimeoutError extends Error {}
