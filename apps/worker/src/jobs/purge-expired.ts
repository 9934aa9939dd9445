import { purgeLoginFailures } from '@rapport/core/auth/login-throttle.ts'
import { purgePasswordResets } from '@rapport/core/auth/password-resets.ts'
import { purgeSessions } from '@rapport/core/auth/login.ts'
import { expireDeliveries, purgeDeliveries } from '@rapport/core/webhooks/drain/abandoned-deliveries.ts'
import { purgeEvents } from '@rapport/core/events/emit.ts'
import { purgeIdempotencyRecords } from '@rapport/core/request/idempotency.ts'
import { purgeImports } from '@rapport/core/imports/imports.ts'
import { purgeMailReports } from '@rapport/core/operations/mail-events.ts'
import { purgeMails } from '@rapport/core/mail/mails.ts'
import { maintainPartitions } from '@rapport/core/db/partitions.ts'
import { purgeWebhooks } from '@rapport/core/webhooks/webhooks.ts'
import type { WorkerDeps } from '../worker-deps.ts'

const purges = [
  purgeIdempotencyRecords,
  purgeSessions,
  purgePasswordResets,
  purgeLoginFailures,
  purgeMails,
  purgeMailReports,
  purgeImports,
  expireDeliveries,
  purgeDeliveries,
  purgeEvents,
  purgeWebhooks,
]

/**
 * Forgets what is past its time, in small steps that lock little or for an instant. Harmless to run twice. That the
 * partitions could not be kept, as when the account may not change tables, keeps nothing else: it is thrown at the end.
 */
export async function purgeExpired(deps: WorkerDeps): Promise<void> {
  const [partitions] = await Promise.allSettled([updatePartitions(deps)])
  for (const purge of purges) {
    while (!deps.stopping.aborted && (await purge(deps.db)) > 0);
  }
  if (partitions.status === 'rejected') throw partitions.reason
}

async function updatePartitions({ db, log }: WorkerDeps): Promise<void> {
  const changes = await maintainPartitions(db)
  if (changes.heldUp.length > 0) log.warn(changes, 'the partitions were in use for too long: next try in an hour')
  else if (changes.added.length + changes.dropped.length > 0) log.info(changes, 'the partitions were kept')
}
