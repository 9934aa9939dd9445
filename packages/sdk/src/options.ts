import type { RapportError } from './errors.ts'

/** How to reach the API, and the defaults of every request. */
export interface RapportOptions {
  /** The URL of the API, such as `https://crm.example.com`. */
  baseUrl: string
  /** An API key (`rpk_…`) or a session token (`rps_…`). Omit it for the public routes: a browser must hold no key. */
  apiKey?: string | undefined
  /** How often a failed request is sent again. Default: 2. */
  maxRetries?: number | undefined
  /** Milliseconds until one attempt times out. Default: 30,000, and no timeout for imports. */
  timeoutMs?: number | undefined
  /** Called with the failure before each retry, for example to log it. */
  onRetry?: ((error: RapportError) => void) | undefined
  /** Replaces the global `fetch`, for example to add a proxy or tracing. */
  fetch?: typeof globalThis.fetch | undefined
}

/** The options of one request. */
export interface RequestOptions {
  /** Aborts the request and its retries; the promise rejects with the reason of the signal. */
  signal?: AbortSignal | undefined
  maxRetries?: number | undefined
  timeoutMs?: number | undefined
  onRetry?: ((error: RapportError) => void) | undefined
  /**
   * Makes a POST safe to repeat after a restart of your program: choose a key per action. Default: a new key per call.
   */
  idempotencyKey?: string | undefined
  /** The `ETag` of the version that you read. If the record has changed since, the request fails with 412. */
  ifMatch?: string | undefined
  headers?: Record<string, string> | undefined
}
