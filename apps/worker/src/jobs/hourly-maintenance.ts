import { randomUUID } from 'node:crypto'
import type { DomainRow } from '@rapport/core/domains/domain-records.ts'
import { recheckDomains } from '@rapport/core/domains/verify-domain.ts'
import { disableFailingWebhooks, warnAboutFailingWebhooks } from '@rapport/core/operations/webhooks/webhook-health.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'
import { purgeExpired } from './purge-expired.ts'

type MaintenanceDeps = Pick<WorkerDeps, 'db' | 'settings' | 'log' | 'retention' | 'stopping'>

/** Runs the hourly maintenance. If one part fails, the other parts still run; then the job fails and is retried. */
export async function runHourlyMaintenance(deps: MaintenanceDeps): Promise<void> {
  const results = await Promise.allSettled([purgeExpired(deps), checkWebhookHealth(deps), checkDomains(deps)])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** Disables webhooks before it warns, so that a webhook that meets both conditions causes one email. */
async function checkWebhookHealth({ db, settings, log, stopping }: MaintenanceDeps): Promise<void> {
  const base: BaseCtx = { db, settings, requestId: randomUUID() }
  for await (const { id, workspaceId, disabledReason } of disableFailingWebhooks(base)) {
    log.warn({ workspaceId, webhookId: id, reason: disabledReason }, 'webhook disabled')
    if (stopping.aborted) return
  }
  for await (const { id, workspaceId } of warnAboutFailingWebhooks(base)) {
    log.info({ workspaceId, webhookId: id }, 'webhook failure warning enqueued')
    if (stopping.aborted) return
  }
}

async function checkDomains({ db, settings, log, stopping }: MaintenanceDeps): Promise<void> {
  const base: BaseCtx = { db, settings, requestId: randomUUID() }
  const onFailure = ({ id, workspaceId }: DomainRow, error: unknown) =>
    log.error({ err: error, workspaceId, domainId: id }, 'sending domain not checked')
  for await (const { id, workspaceId, name, status } of recheckDomains(base, { onFailure, stopping })) {
    const level = status === 'FAILED' ? 'warn' : 'info'
    log[level]({ workspaceId, domainId: id, domain: name }, `sending domain ${status.toLowerCase()}`)
  }
}
