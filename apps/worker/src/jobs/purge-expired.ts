import { purgeLoginFailures } from '@rapport/core/auth/login.ts'
import { purgePasswordResets } from '@rapport/core/auth/password-resets.ts'
import { purgeSessions } from '@rapport/core/auth/sessions.ts'
import { purgeIdempotencyRecords } from '@rapport/core/idempotency.ts'
import { purgeImports } from '@rapport/core/imports/imports.ts'
import { purgeMails } from '@rapport/core/mail/mails.ts'
import type { Tools } from '../tools.ts'

/** Forgets what is past its time, in small steps that lock little. Harmless to run twice. */
export async function purgeExpired(tools: Tools): Promise<void> {
  for (const purge of [
    purgeIdempotencyRecords,
    purgeSessions,
    purgePasswordResets,
    purgeLoginFailures,
    purgeMails,
    purgeImports,
  ]) {
    while (!tools.stopping.aborted && (await purge(tools.db)) > 0);
  }
}
