import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { isPollingWorker } from '@rapport/core/work/worker-registry.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'

type BounceConfig = Pick<WorkerConfig, 'BOUNCE_HOST' | 'BOUNCE_PORT' | 'BOUNCE_IMAP_URL'>

/**
 * Starts to receive bounces, on a port and from a mailbox, as configured. Only what is configured is loaded: the libraries
 * for SMTP, IMAP and MIME are a large part of a start.
 */
export async function openBounceReceivers(
  { BOUNCE_HOST: host, BOUNCE_PORT: port, BOUNCE_IMAP_URL: url }: BounceConfig,
  deps: Pick<WorkerDeps, 'db' | 'settings' | 'workerId' | 'log' | 'timings' | 'metrics'>,
): Promise<{ close(): Promise<void> }> {
  const { db, settings, workerId, log, timings, metrics } = deps
  if (port === undefined && url === undefined) return { close: async () => {} }
  const { createMailParser } = await import('./parsing/mail-parser.ts')
  const parser = createMailParser({ onIgnored: (reason) => metrics.ignoredBounces.inc({ reason }) })
  const base = { db, settings }
  const isElected = () => isPollingWorker(db, workerId, timings.pollingWorkerTimeoutMs)
  const openListener = async (port: number) => {
    const { openBounceListener } = await import('./bounce-listener.ts')
    const { bounceCommandMs, bounceMessageMs, bounceConnectionMs, bouncePortRetryMs } = timings
    const limits = { commandMs: bounceCommandMs, messageMs: bounceMessageMs, connectionMs: bounceConnectionMs }
    return openBounceListener(base, { host, port, parser, ...limits, retryMs: bouncePortRetryMs, log })
  }
  const openReader = async (url: string) => {
    const { startMailboxReader } = await import('./read-mailbox.ts')
    return startMailboxReader(base, { url, parser, intervalMs: timings.mailboxIntervalMs, isElected, log })
  }
  const listener = port === undefined ? undefined : await openListener(port)
  const reader = url === undefined ? undefined : await openReader(url)
  return {
    async close() {
      await Promise.all([listener?.close(), reader?.close()])
      await parser.close()
    },
  }
}
