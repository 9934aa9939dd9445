/** Builds requests, and repeats them after temporary failures. */
import type { ApiRequest, Query } from './api-request.ts'
import type { RapportError } from './errors.ts'
import type { RapportOptions, RequestOptions } from './options.ts'
import { ApiPromise, type Page, PagePromise, type WithResponse } from './promises.ts'
import { canRepeat, delayMs, sleep } from './retry.ts'
import { type Reader, readJson, readStream, sendOnce } from './send-once.ts'
import { type OpenedUpload, openUpload } from './upload.ts'

const defaultRetries = 2
const defaultTimeoutMs = 30_000

export class Client {
  readonly #options: RapportOptions
  readonly #baseUrl: string

  /** Throws a TypeError if an option is invalid. */
  constructor(options: RapportOptions) {
    const { baseUrl, apiKey } = options
    if (!/^https?:\/\/[^/?#\s][^?#\s]*$/.test(baseUrl))
      throw new TypeError(`baseUrl: must be an http or https URL, not ${JSON.stringify(baseUrl)}`)
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
      throw new TypeError('apiKey: must be an API key (rpk_…)')
    this.#options = options
    this.#baseUrl = baseUrl.replace(/\/+$/, '')
  }

  request<Data>(request: ApiRequest, options?: RequestOptions): ApiPromise<Data> {
    return new ApiPromise(this.#send(request, options, readJson<Data>))
  }

  requestPage<P extends Page>(request: ApiRequest, options?: RequestOptions): PagePromise<P> {
    const send = (query = request.query) => this.#send({ ...request, query }, options, readJson<P>)
    return new PagePromise(send(), async (cursor) => (await send({ ...request.query, cursor })).data)
  }

  /** Resolves with the body as a stream, which fails if the connection is lost before its end. */
  requestFile(request: ApiRequest, options?: RequestOptions): ApiPromise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return new ApiPromise(this.#send(request, options, readStream))
  }

  async #send<Data>(
    request: ApiRequest,
    options: RequestOptions = {},
    read: Reader<Data>,
  ): Promise<WithResponse<Data>> {
    const { method = 'GET', path, query, body, upload } = request
    const { fetch = globalThis.fetch } = this.#options
    // If the first attempt took effect, a second one would fail with 412 because of it.
    const repeatable = options.ifMatch === undefined ? request : { ...request, isIdempotent: false }
    const { signal, maxRetries = this.#options.maxRetries ?? defaultRetries } = options
    const { onRetry = this.#options.onRetry } = options
    const timeoutMs = options.timeoutMs ?? (upload ? Infinity : (this.#options.timeoutMs ?? defaultTimeoutMs))
    const url = this.#baseUrl + path + serializeQuery(query)
    const headers = this.#createHeaders(request, options)
    const json = body === undefined ? null : JSON.stringify(body)
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted()
      const opened: OpenedUpload = upload ? openUpload(upload) : { body: json }
      try {
        const result = await sendOnce({ fetch, url, method, headers, body: opened.body, signal, timeoutMs }, read)
        // Workers send the part before the failure as if it were the whole.
        if (opened.failure) throw opened.failure.error
        return result
      } catch (error) {
        opened.close?.()
        if (opened.failure) throw opened.failure.error
        if (signal?.aborted || !(attempt < maxRetries) || !canRepeat(repeatable, error)) throw error
        onRetry?.(error as RapportError)
        await sleep(delayMs(attempt, error), signal)
      }
    }
  }

  /** All attempts have the same headers, and so the same `Idempotency-Key`. */
  #createHeaders({ method, body, upload }: ApiRequest, { idempotencyKey, ifMatch, headers }: RequestOptions): Headers {
    const { apiKey } = this.#options
    const created = new Headers({
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(upload && { 'content-type': 'csv' in upload ? 'text/csv' : 'application/x-ndjson' }),
      ...(method === 'POST' && { 'idempotency-key': idempotencyKey ?? createIdempotencyKey() }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    })
    // Replaces a header in whatever case it is written, which an object with both names would not.
    for (const [name, value] of Object.entries(headers ?? {})) created.set(name, value)
    return created
  }
}

/** Encodes the parameters of a path. Throws a TypeError for a parameter that would lead to another path. */
export function encodePath(texts: TemplateStringsArray, ...parameters: string[]): string {
  const encoded = parameters.map((parameter) => {
    if (typeof parameter !== 'string' || !/^(?!\.{1,2}$)./s.test(parameter))
      throw new TypeError(`A path parameter of ${texts.join('…')} is ${JSON.stringify(parameter)}`)
    return encodeURIComponent(parameter)
  })
  return String.raw({ raw: texts }, ...encoded)
}

/** An array is repeated: `{ tag: ['a', 'b'] }` becomes `?tag=a&tag=b`. `null`, such as the `nextCursor` of the last page, is left out. */
function serializeQuery(query: Query = {}): string {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) if (item !== undefined && item !== null) pairs.append(name, String(item))
  }
  return pairs.size === 0 ? '' : `?${pairs}`
}

/** Not `crypto.randomUUID()`, which browsers have only on pages with HTTPS. */
function createIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
