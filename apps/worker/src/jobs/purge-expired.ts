import { purgeLoginFailures } from '@rapport/core/auth/login.ts'
import { purgePasswordResets } from '@rapport/core/auth/password-resets.ts'
import { purgeSessions } from '@rapport/core/auth/sessions.ts'
import { purgeEvents } from '@rapport/core/events.ts'
import { purgeIdempotencyRecords } from '@rapport/core/idempotency.ts'
import { purgeImports } from '@rapport/core/imports/imports.ts'
import { purgeMailReports } from '@rapport/core/mail/mail-events.ts'
import { purgeMails } from '@rapport/core/mail/mails.ts'
import { purgeWebhooks } from '@rapport/core/webhooks/webhooks.ts'
import type { Tools } from '../tools.ts'

const purges = [
  purgeIdempotencyRecords,
  purgeSessions,
  purgePasswordResets,
  purgeLoginFailures,
  purgeMails,
  purgeMailReports,
  purgeImports,
  purgeEvents,
  purgeWebhooks,
]

/** Forgets what is past its time, in small steps that lock little. Harmless to run twice. */
export async function purgeExpired(tools: Tools): Promise<void> {
  for (const purge of purges) {
    while (!tools.stopping.aborted && (await purge(tools.db)) > 0);
  }
}
