/** Fixtures for the worker's tests. */
import { defaultRetention } from '@rapport/core/kernel/retention.ts'
import { loadCampaignRenderer } from '@rapport/core/campaigns/campaign-mail.ts'
import type { Recipient } from '@rapport/core/rendering/recipient.ts'
import { readWorkerConfig, type WorkerConfig } from '@rapport/core/runtime/config.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { Database, Db } from '@rapport/core/db/client.ts'
import type { EncodedMail, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import type { WorkKind } from '@rapport/core/work/kinds.ts'
import { openJobQueues } from '@rapport/core/work/job-queues.ts'
import { attachPublisher, createPublisher } from '@rapport/core/work/publisher.ts'
import { drainJobOf, type WorkJob } from '@rapport/core/work/queues.ts'
import { createTestWorker, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { pino } from 'pino'
import { createUnsignedLog } from '../src/jobs/attempt-delivery.ts'
import { createJobShares, mailJobs } from '../src/jobs/job-shares.ts'
import { createReceiverMemory } from '../src/webhook-delivery/receiver-memory.ts'
import { createQuotaCache } from '@rapport/core/quotas/quota-cache.ts'
import { type DrainResult, drainWebhooks } from '../src/jobs/drain-webhooks.ts'
import { startPoller } from '../src/queues/poller.ts'
import { openQueueBackend } from '../src/queues/queue-backend.ts'
import { createMailRateLimiter } from '../src/smtp/mail-rate-limiter.ts'
import { openMailTransport } from '../src/smtp/mail-transport.ts'
import { createWorkerMetrics, withMailMetrics } from '../src/process/metrics.ts'
import { openOutboundHttp } from '../src/webhook-delivery/outbound-http.ts'
import type { WorkerDeps } from '../src/process/worker-deps.ts'
import { defaultTimings, type WorkerTimings } from '../src/process/worker-timings.ts'
import type { CampaignId } from '@rapport/core/kernel/ids.ts'

export const silentLog = pino({ level: 'silent' })

/**
 * Intervals and timeouts that tests wait for. The others keep their defaults: they limit what a busy machine may take,
 * such as the response of a receiver.
 */
export const shortTimings: WorkerTimings = {
  ...defaultTimings,
  heartbeatIntervalMs: 50,
  pollMs: 50,
  otherWorkersPollMs: 150,
  republishMs: 500,
  withheldMs: 100,
  addTimeoutMs: 1_000,
  redisCommandTimeoutMs: 500,
  retryDelayMs: { campaigns: 50, mail: 50, imports: 50, maintenance: 50 },
  minRetryPauseMs: 10,
  maxRetryPauseMs: 50,
  shutdownIdleMs: 300,
  // Long, so that one job of a test ends what it begins.
  clearTurnMs: 60_000,
}

/** No server listens on this port. */
export const unreachableSmtpUrl = 'smtp://127.0.0.1:1'

export interface TestDeps extends WorkerDeps {
  /** Starts the shutdown. */
  stop(): void
  close(): Promise<void>
}

/** Creates the dependencies of a newly registered worker. */
export async function createTestDeps(
  db: Db,
  options: { smtpUrl?: string; mailRate?: number; allowedNetworks?: string[]; timings?: WorkerTimings } = {},
): Promise<TestDeps> {
  const { smtpUrl = unreachableSmtpUrl, mailRate, allowedNetworks = [...testSettings.allowedNetworks] } = options
  const { timings = shortTimings } = options
  const stopping = new AbortController()
  const metrics = createWorkerMetrics()
  const mail = withMailMetrics(openMailTransport(smtpUrl), metrics)
  const http = openOutboundHttp(allowedNetworks, { timings })
  const webhookQuota = createQuotaCache('webhookRequests')
  const workerId = await createTestWorker(db)
  return {
    db,
    settings: testSettings,
    retention: defaultRetention,
    workerId,
    mail,
    mailRateLimiter: createMailRateLimiter(db, mailRate, stopping.signal),
    http,
    webhookQuota,
    drains: { active: new Map(), max: 40 },
    receivers: createReceiverMemory(),
    requeueDrain: async () => {},
    log: silentLog,
    logUnsigned: createUnsignedLog(silentLog),
    tracer: undefined,
    metrics,
    timings,
    stopping: stopping.signal,
    jobShares: createJobShares(mailJobs),
    liveClaims: new Set(),
    stop: () => stopping.abort(),
    async close() {
      mail.close()
      await http.close()
    },
  }
}

/** The job for a record, by its UUID. */
export const jobOf = (ctx: Ctx, kind: WorkKind, id: string): WorkJob => ({
  workspaceId: ctx.workspaceId,
  kind,
  id,
})

/** Runs one job that drains the webhooks of the workspace. */
export const drain = (deps: WorkerDeps, { workspaceId }: Pick<Ctx, 'workspaceId'>): Promise<DrainResult> =>
  drainWebhooks(deps, drainJobOf(workspaceId), { onProgress: () => {}, allowNextJob: () => {} })

/** A worker configuration that allows requests to local receivers. */
export function testWorkerConfig(env: Record<string, string> & { DATABASE_URL: string }): WorkerConfig {
  return readWorkerConfig({
    PUBLIC_URL: testSettings.publicUrl,
    SECRET_KEY: 'a secret that is known to every test',
    MAIL_FROM: testSettings.mailFrom,
    SMTP_URL: unreachableSmtpUrl,
    QUOTA_CONFIRMATIONS: '0',
    QUOTA_PERSONAL_DATA_MAILS: '0',
    WEBHOOK_ALLOWED_NETWORKS: testSettings.allowedNetworks.join(),
    ...env,
  })
}

export interface TestPollerOptions {
  database: Database
  timings?: WorkerTimings
  /** Attaches a publisher to `database`. */
  publishes?: boolean
  onAdd?: () => void
}

/** Starts the poll of a newly registered worker, and its queues. */
export async function startTestPoller(config: WorkerConfig, options: TestPollerOptions) {
  const { database, timings = shortTimings, onAdd } = options
  const { db } = database
  const backend = await openQueueBackend(config, { log: silentLog, timings })
  const queues = openJobQueues(backend, { timings, onAdd })
  const publisher = createPublisher({ add: (queue, jobs) => queues.add(queue, jobs) })
  if (options.publishes) attachPublisher(db, publisher)
  const workerId = await createTestWorker(db)
  const { firstConnection } = backend
  const poller = startPoller({ db, queues, firstConnection, workerId, log: silentLog, timings })
  async function close() {
    await poller.close()
    await publisher.close()
    await queues.close()
    await backend.close()
  }
  return { backend, poller, workerId, close }
}

/** Renders the campaign mail for one recipient. */
export async function renderFor(
  ctx: Ctx,
  campaignId: CampaignId,
  recipient: Recipient,
): Promise<EncodedMail | OutgoingMail> {
  const { render } = await loadCampaignRenderer(ctx, campaignId)
  const [rendered] = await render([recipient])
  if (!rendered || 'fault' in rendered) throw new Error(rendered?.fault.message ?? 'No mail was rendered')
  return rendered.mail
}
