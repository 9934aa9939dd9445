/** Which failures are temporary, and how long to wait before the next attempt. */
import type { ApiRequest } from './api-request.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { isReplayable } from './upload.ts'

const firstDelayMs = 500
const maxDelayMs = 8_000
/** One window of the rate limit. If the API asks to wait for longer, the error is thrown at once. */
const maxRetryAfterSeconds = 60

/** Whether the failure is temporary, and the request can be repeated without a second effect. */
export function canRepeat({ method, isIdempotent = method !== 'POST', upload }: ApiRequest, error: unknown): boolean {
  if (upload && !isReplayable(upload)) return false
  return isRejected(error) || (isIdempotent && isTemporary(error))
}

/** The API did not execute the request, but will if it is repeated. */
function isRejected(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const { status, retryAfterSeconds } = error
  return (status === 429 || (status === 409 && retryAfterSeconds !== undefined)) && isWaitAcceptable(error)
}

function isTemporary(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return error instanceof ApiError && (error.status === 408 || error.status >= 500) && isWaitAcceptable(error)
}

const isWaitAcceptable = ({ retryAfterSeconds = 0 }: ApiError) => retryAfterSeconds <= maxRetryAfterSeconds

/** Exponential backoff with jitter, but at least as long as the API asks for. */
export function delayMs(attempt: number, error: unknown): number {
  const backoffMs = Math.min(maxDelayMs, firstDelayMs * 2 ** attempt) * (0.5 + Math.random() / 2)
  const { retryAfterSeconds = 0 } = error instanceof ApiError ? error : {}
  return Math.max(backoffMs, retryAfterSeconds * 1_000)
}

/** Rejects with the reason of the signal when it is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
