import { defaultExportIdleMs } from '@rapport/core/contacts/export/export-contacts.ts'
import { defaultTimeoutMs } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { defaultQuotaTtlMs } from '@rapport/core/quotas/quota-cache.ts'

/** How long the API waits for something. Tests pass shorter times. */
export interface ApiTimings {
  /** The limit for sending the headers of a request, and separately for its body. */
  requestTimeoutMs: number
  /** The longest time that a request waits while its workspace has too many concurrent requests. */
  maxWaitMs: number
  /** A workspace is alone in the process if no other one has sent a request for this long. */
  aloneAfterMs: number
  /** An upload is aborted after this time without new data. */
  uploadIdleMs: number
  /** Uploads that are still running this long after shutdown has begun are rejected. */
  uploadGraceMs: number
  /** An export whose client reads nothing for this long is ended. */
  exportIdleMs: number
  /** Requests that must not reveal whether an address is known take a multiple of this time. */
  constantTimeStepMs: number
  /** The timeout of a request to another server. */
  outboundTimeoutMs: number
  /** The age of a cached public form. */
  publicFormTtlMs: number
  /** The age of the hosts of workspaces in memory. */
  hostsTtlMs: number
  /** How long a request waits for these hosts while PostgreSQL is unavailable. */
  hostsTimeoutMs: number
  /** The age of the cached quotas for concurrent requests and uploads. */
  quotaTtlMs: number
  /** How often the rate limits probe a Redis that is unavailable. */
  redisProbeMs: number
  /** The timeout of each check of PostgreSQL, Redis and the clock. */
  readinessTimeoutMs: number
  /** The timeout for closing the queues of the dashboard. */
  queueCloseTimeoutMs: number
  /** Open connections are closed this long after shutdown has begun. No statement of the database takes longer. */
  closeTimeoutMs: number
}

export const defaultTimings: ApiTimings = {
  requestTimeoutMs: 15_000,
  maxWaitMs: 10_000,
  aloneAfterMs: 1_000,
  uploadIdleMs: 30_000,
  uploadGraceMs: 7_000,
  exportIdleMs: defaultExportIdleMs,
  constantTimeStepMs: 50,
  outboundTimeoutMs: 5_000,
  publicFormTtlMs: 900,
  hostsTtlMs: 5_000,
  hostsTimeoutMs: 1_000,
  quotaTtlMs: defaultQuotaTtlMs,
  redisProbeMs: 1_000,
  readinessTimeoutMs: defaultTimeoutMs,
  queueCloseTimeoutMs: 1_000,
  closeTimeoutMs: 10_000,
}
