import { purgeLoginFailures } from '@rapport/core/auth/login-throttle.ts'
import { purgePasswordResets } from '@rapport/core/auth/password-resets.ts'
import { purgeSessions } from '@rapport/core/auth/login.ts'
import { expireDeliveries, purgeDeliveries } from '@rapport/core/webhooks/drain/abandoned-deliveries.ts'
import { expireEmails } from '@rapport/core/emails/expire-emails.ts'
import { purgeEmails } from '@rapport/core/emails/purge-emails.ts'
import { purgeEvents } from '@rapport/core/events/purge-events.ts'
import { purgeIdempotencyRecords } from '@rapport/core/request/idempotency.ts'
import { purgeFinishedImports, purgeImports } from '@rapport/core/imports/purge-imports.ts'
import { purgeHookTokens } from '@rapport/core/mail-hooks/signed-tokens.ts'
import { purgeMailReports } from '@rapport/core/operations/mail/known-reports.ts'
import { purgeMailRequests } from '@rapport/core/mail/mail-quotas.ts'
import { purgeAuditEntries } from '@rapport/core/audit/purge-audit-entries.ts'
import { purgeSoftBounces } from '@rapport/core/suppressions/soft-bounces.ts'
import { purgeForms, purgeSubmissions } from '@rapport/core/forms/purge-submissions.ts'
import { purgeVisitorMails } from '@rapport/core/mail/budget/visitor-mails.ts'
import { purgeMails } from '@rapport/core/mail/mails.ts'
import { maintainPartitions } from '@rapport/core/db/partitions.ts'
import { purgeWebhooks } from '@rapport/core/webhooks/webhooks.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'

const purges = [
  purgeIdempotencyRecords,
  purgeSessions,
  purgePasswordResets,
  purgeLoginFailures,
  purgeMails,
  expireEmails,
  purgeEmails,
  purgeMailRequests,
  purgeVisitorMails,
  purgeMailReports,
  purgeSoftBounces,
  purgeHookTokens,
  purgeImports,
  purgeFinishedImports,
  purgeSubmissions,
  purgeForms,
  purgeAuditEntries,
  expireDeliveries,
  purgeDeliveries,
  purgeEvents,
  purgeWebhooks,
]

type PurgeDeps = Pick<WorkerDeps, 'db' | 'log' | 'retention' | 'stopping'>

/**
 * Deletes expired records in small batches that lock few rows. Idempotent. If the partitions cannot be maintained, for
 * example because the database user may not alter tables, the purges still run and the error is thrown at the end.
 */
export async function purgeExpired(deps: PurgeDeps): Promise<void> {
  const [partitions] = await Promise.allSettled([updatePartitions(deps)])
  for (const purge of purges) {
    while (!deps.stopping.aborted && (await purge(deps.db, deps.retention)) > 0);
  }
  if (partitions.status === 'rejected') throw partitions.reason
}

async function updatePartitions({ db, log, retention }: PurgeDeps): Promise<void> {
  const changes = await maintainPartitions(db, { lifetimeDays: retention.eventsDays })
  if (changes.lockedTables.length > 0) log.warn(changes, 'partitions locked for too long; retrying in an hour')
  else if (changes.added.length + changes.dropped.length > 0) log.info(changes, 'partitions updated')
}
