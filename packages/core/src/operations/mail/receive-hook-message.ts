import type { Db } from '../../db/client.ts'
import { transaction } from '../../db/transaction.ts'
import type { MailHookId } from '../../kernel/ids.ts'
import { normalizeEmail } from '../../kernel/validation.ts'
import { findMailHook, type MailHookRow, touchMailHook } from '../../mail-hooks/mail-hooks.ts'
import { acceptToken } from '../../mail-hooks/signed-tokens.ts'
import { type HookContext, type HookRequest, refusedMessage } from '../../mail/providers/hook-message.ts'
import type { ProviderReport } from '../../mail/providers/provider-report.ts'
import { type MailProvider, readProviderMessage } from '../../mail/providers/read-message.ts'
import { type BaseCtx, publicContext } from '../../request/context.ts'
import { findReportedWorkspace } from './find-reported-workspace.ts'
import { reportMailEvent } from './mail-events.ts'

export interface ReceivedMessage extends HookRequest, Omit<HookContext, 'secret'> {
  provider: MailProvider
  hookId: MailHookId
}

/**
 * Verifies a message of a mail provider and records its reports, each in a transaction of its own. A message that is
 * repeated, or that failed half-way, is safe to send again: a repeated report is a no-op. Throws `unauthorized` if there
 * is no such hook or if the signature is wrong, and `validation_error` if the signed message is malformed.
 */
export async function receiveHookMessage(base: BaseCtx, received: ReceivedMessage): Promise<void> {
  const found = await findMailHook(base, { id: received.hookId, provider: received.provider })
  if (!found) throw refusedMessage()
  const { hook, secret } = found
  const { reports, signedToken } = await readProviderMessage[hook.provider](received, { ...received, secret })
  await touchMailHook(base.db, hook)
  if (signedToken === undefined) return recordReports(base, hook, reports)
  if (reports.length === 0) return
  await transaction(base.db, async (db: Db) => {
    if (await acceptToken(db, hook.id, signedToken)) await recordReports({ ...base, db }, hook, reports)
  })
}

async function recordReports(base: BaseCtx, hook: MailHookRow, reports: readonly ProviderReport[]): Promise<void> {
  for (const reported of reports) {
    const report = { ...reported, email: reported.email === null ? null : (normalizeEmail(reported.email) ?? null) }
    const workspaceId = hook.workspaceId ?? (await findReportedWorkspace(base, report))
    if (workspaceId) await reportMailEvent(publicContext(base, workspaceId), report)
  }
}
