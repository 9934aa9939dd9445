/** Sends a request once and reads its response. */
import { ConnectionError, createApiError, RapportError, TimeoutError } from './errors.ts'
import type { WithResponse } from './promises.ts'
import type { RequestBody } from './upload.ts'

export type Reader<Data> = (response: Response, signal: AbortSignal | undefined) => Promise<Data>

/** A longer timer expires at once. */
const maxTimerMs = 2 ** 31 - 1

interface Attempt {
  fetch: typeof globalThis.fetch
  url: string
  method: string
  headers: Headers
  body: RequestBody | null
  signal: AbortSignal | undefined
  timeoutMs: number
}

/** Rejects with a RapportError, or the reason of the signal. */
export async function sendOnce<Data>(
  { fetch, url, signal, timeoutMs, ...init }: Attempt,
  read: Reader<Data>,
): Promise<WithResponse<Data>> {
  const timeout = new AbortController()
  const timer = timeoutMs <= maxTimerMs ? setTimeout(() => timeout.abort(), timeoutMs) : undefined
  const signals = signal ? [signal, timeout.signal] : [timeout.signal]
  try {
    // A redirect would turn a POST into a GET, so it is an error. `duplex` allows a stream as the body.
    const options = { ...init, redirect: 'manual', duplex: 'half', signal: AbortSignal.any(signals) } as const
    const response = await fetch(url, options)
    if (!response.ok) throw createApiError(response, await readError(response))
    return { data: await read(response, signal), response }
  } catch (error) {
    if (error instanceof RapportError) throw error
    signal?.throwIfAborted()
    // Complete, but from another program: a repetition would not help.
    if (error instanceof SyntaxError)
      throw new RapportError(`${init.method} ${url}: ${error.message}`, { cause: error })
    if (timeout.signal.aborted) throw new TimeoutError(`${init.method} ${url}: no response within ${timeoutMs} ms`)
    throw new ConnectionError(`${init.method} ${url}: ${describe(error)}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** Undefined for an empty body, as of a 204. */
export async function readJson<Data>(response: Response): Promise<Data> {
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as Data
}

/** Returns the body of a file. It fails with a ConnectionError, or with the reason of the signal. */
export async function readStream(
  { body, headers, url }: Response,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const type = headers.get('content-type') ?? ''
  if (/html/.test(type)) throw new RapportError(`${url} returned ${type} instead of a file`)
  const reader = (body ?? new Blob().stream()).getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        signal?.throwIfAborted()
        throw new ConnectionError(`The response was cut: ${describe(error)}`, { cause: error })
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

async function readError(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The error of Node's fetch has the actual reason in its cause. */
function describe(error: unknown): string {
  const { cause = error } = error as { cause?: unknown }
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}
