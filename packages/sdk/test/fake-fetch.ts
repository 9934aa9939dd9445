/** A client whose `fetch` is a fake, for tests of what the client sends and how it reacts. */
import { vi } from 'vitest'
import type { RapportOptions } from '../src/options.ts'
import { Rapport } from '../src/rapport.ts'

export interface SentRequest {
  method: string
  /** Path and query. */
  path: string
  headers: Headers
  /** The text of the body. */
  body: string
  atMs: number
}

/** A response, an error of the network, or a request that never ends. */
type Outcome = Response | Error | 'hang'

const baseUrl = 'https://crm.example'

/** The first request has the first outcome, and so on. A further request is an error. */
export function createFakeClient(outcomes: readonly (Outcome | (() => Outcome))[], options?: Partial<RapportOptions>) {
  const sent: SentRequest[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const outcome = outcomes[sent.length]
    const { url, method, headers, signal } = new Request(input, init)
    sent.push({ method, path: url.slice(baseUrl.length), headers, body: '', atMs: Date.now() })
    const index = sent.length - 1
    const body = init?.body ? await new Response(init.body).text() : ''
    sent[index] = { ...(sent[index] as SentRequest), body }
    const result = typeof outcome === 'function' ? outcome() : outcome
    if (result === undefined) throw new Error('The test expects no further request')
    if (result === 'hang') return waitForAbort(signal)
    if (result instanceof Error) throw result
    return result
  }
  return { rapport: new Rapport({ baseUrl, apiKey: 'rpk_test', fetch, ...options }), sent }
}

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers })

/** `Array.fromAsync`, which the types of the repository do not have. */
export async function collect<Value>(iterable: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = []
  for await (const value of iterable) values.push(value)
  return values
}

/** Fakes the clock and its timers, and leaves the event loop real. */
export function useFakeTime(now = new Date('2026-11-23T12:00:00Z')): void {
  vi.useFakeTimers({ now, toFake: ['setTimeout', 'clearTimeout', 'Date'] })
}

/** Runs fake timers until the promise has ended. */
export async function resultOf<Value>(promise: PromiseLike<Value>): Promise<PromiseSettledResult<Value>> {
  const settled = Promise.allSettled([promise])
  for (;;) {
    await vi.runAllTimersAsync()
    const [result] = await Promise.race([settled, nextTurn()])
    if (result) return result
  }
}

const nextTurn = () => new Promise<[]>((resolve) => setImmediate(resolve, []))

/** The reason of the rejection. Fails if the promise is fulfilled. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  const result = await resultOf(promise)
  if (result.status === 'fulfilled') throw new Error('The promise was fulfilled')
  return result.reason
}

const waitForAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
