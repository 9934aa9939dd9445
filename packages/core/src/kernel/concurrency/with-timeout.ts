export const defaultTimeoutMs = 2_000

/** Resolves or rejects like `result`; rejects with a TimeoutError after `timeoutMs`. The call itself is not aborted. */
export function withTimeout<Result>(result: Promise<Result>, timeoutMs = defaultTimeoutMs): Promise<Result> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new TimeoutError(`No response within ${timeoutMs} ms`)), timeoutMs)
  return Promise.race([result, timeout.promise]).finally(() => clearTimeout(timer))
}

export class TimeoutError extends Error {}
