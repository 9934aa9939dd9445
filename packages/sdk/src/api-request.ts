import type { Upload } from './upload.ts'

type Value = string | number | boolean | null | undefined
export interface Query {
  readonly [name: string]: Value | readonly Value[]
}

export interface ApiRequest {
  /** Default: GET. */
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with encoded parameters. */
  path: string
  query?: Query | undefined
  /** Sent as JSON. */
  body?: unknown
  /** Sent instead of `body`. */
  upload?: Upload
  /** True for a POST that the API executes at most once per `Idempotency-Key`. */
  isIdempotent?: boolean
}
