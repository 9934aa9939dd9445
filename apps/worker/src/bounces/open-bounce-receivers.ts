import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { isPollingWorker } from '@rapport/core/work/worker-registry.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'
import { openBounceListener } from './bounce-listener.ts'
import { startMailboxReader } from './read-mailbox.ts'

type BounceConfig = Pick<WorkerConfig, 'BOUNCE_HOST' | 'BOUNCE_PORT' | 'BOUNCE_IMAP_URL'>

/** Starts to receive bounces, on a port and from a mailbox, as configured. */
export async function openBounceReceivers(
  { BOUNCE_HOST: host, BOUNCE_PORT: port, BOUNCE_IMAP_URL: url }: BounceConfig,
  { db, settings, workerId, log, timings }: Pick<WorkerDeps, 'db' | 'settings' | 'workerId' | 'log' | 'timings'>,
): Promise<{ close(): Promise<void> }> {
  const base = { db, settings }
  const { bounceConnectionMs: connectionTimeoutMs, bouncePortRetryMs: retryMs, mailboxIntervalMs: intervalMs } = timings
  const isElected = () => isPollingWorker(db, workerId, timings.pollingWorkerTimeoutMs)
  const listener =
    port === undefined ? undefined : await openBounceListener(base, { host, port, connectionTimeoutMs, retryMs, log })
  const reader = url === undefined ? undefined : startMailboxReader(base, { url, intervalMs, isElected, log })
  return {
    async close() {
      await Promise.all([listener?.close(), reader?.close()])
    },
  }
}
