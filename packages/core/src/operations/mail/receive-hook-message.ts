import { limitInTurns } from '../../kernel/concurrency/limit-in-turns.ts'
import { AppError } from '../../kernel/errors.ts'
import type { MailHookId } from '../../kernel/ids.ts'
import { normalizeEmail } from '../../kernel/validation.ts'
import { countLists } from '../../lists/lists.ts'
import { findMailHook, type MailHookRow, touchMailHook } from '../../mail-hooks/mail-hooks.ts'
import { acceptToken } from '../../mail-hooks/signed-tokens.ts'
import { type HookContext, type HookRequest, refusedMessage } from '../../mail/providers/hook-message.ts'
import type { ProviderReport } from '../../mail/providers/provider-report.ts'
import { type MailProvider, readProviderMessage } from '../../mail/providers/read-message.ts'
import { type BaseCtx, type Ctx, publicContext } from '../../request/context.ts'
import { inRounds } from '../../request/in-rounds.ts'
import { listReportedWorkspaces } from './find-reported-workspace.ts'
import { reportMailEvents } from './mail-events.ts'

export interface ReceivedMessage extends HookRequest, Omit<HookContext, 'secret'> {
  provider: MailProvider
  hookId: MailHookId
  /** Aborted when the client has closed the connection: what is not recorded yet comes with the repetition. */
  closed?: AbortSignal
  /** Runs the work when it is the turn of the workspace. Default: one transaction of a workspace at a time, in this process. */
  inTurn?: typeof recordInTurn
}

/** A message of a megabyte has 8,000 events: others take their turns between its transactions. */
const recordInTurn = limitInTurns(4, {
  maxPerWorkspace: 1,
  maxWaitMs: 10_000,
  message: 'Another message of the hook is being recorded; send this one again',
})
/** Many messages at once would fill the event loop of the process. */
const readInTurn = limitInTurns(4, {
  maxPerWorkspace: 1,
  maxWaitMs: 10_000,
  message: 'Another message of the hook is being read; send this one again',
})
const chunkSize = 500
const maxSubscriptions = 10_000

/**
 * Verifies a message of a mail provider and records its reports, at most 500 in a transaction, one transaction of a workspace
 * at a time: a workspace must not use all connections with messages to its own hook. A message that is repeated, or that
 * failed half-way, is safe to send again: a repeated report is a no-op. Throws `unauthorized` if there
 * is no such hook or if the signature is wrong, and `validation_error` if the signed message is malformed.
 */
export async function receiveHookMessage(base: BaseCtx, received: ReceivedMessage): Promise<void> {
  const found = await findMailHook(base, { id: received.hookId, provider: received.provider })
  if (!found) throw refusedMessage()
  const { hook, secret } = found
  const { closed, inTurn } = received
  const workspaceId = hook.workspaceId ?? hook.id
  const read = async () => readProviderMessage[hook.provider](received, { ...received, secret })
  const { reports, signedToken } = await (inTurn ?? readInTurn)(workspaceId, read, closed)
  await touchMailHook(base.db, hook)
  if (reports.length === 0) return
  const takeTurn: Turn = (work) => (inTurn ?? recordInTurn)(workspaceId, work, closed)
  if (signedToken === undefined) return await recordReports(base, hook, { reports, closed, takeTurn })
  // All in one transaction with the token: no turn is awaited in it.
  const recordOnce = () =>
    inRounds(base, async (base) => {
      if (!(await acceptToken(base.db, hook.id, signedToken))) return
      await recordReports(base, hook, { reports, closed, takeTurn: (work) => work() })
    })
  await takeTurn(recordOnce)
}

type Turn = (work: () => Promise<void>) => Promise<void>

async function recordReports(
  base: BaseCtx,
  hook: MailHookRow,
  {
    reports,
    closed,
    takeTurn,
  }: { reports: readonly ProviderReport[]; closed: AbortSignal | undefined; takeTurn: Turn },
): Promise<void> {
  for (let start = 0; start < reports.length; start += chunkSize) {
    const chunk = reports.slice(start, start + chunkSize).map(withNormalEmail)
    const ids =
      hook.workspaceId === null ? await listReportedWorkspaces(base, chunk) : chunk.map(() => hook.workspaceId)
    const byWorkspace = Map.groupBy(chunk.entries(), ([at]) => ids[at])
    for (const [workspaceId, reported] of byWorkspace) {
      if (!workspaceId) continue
      const ctx = publicContext(base, workspaceId)
      const size = await readTransactionSize(ctx)
      for (let first = 0; first < reported.length; first += size) {
        requireOpen(closed)
        const part = reported.slice(first, first + size).map(([, report]) => report)
        await takeTurn(() => reportMailEvents(ctx, part))
      }
    }
  }
}

/** How many contacts a transaction changes: all of their subscriptions may end, and each emits an event. */
async function readTransactionSize(ctx: Ctx): Promise<number> {
  const lists = await countLists(ctx)
  return Math.max(1, Math.min(chunkSize, Math.floor(maxSubscriptions / Math.max(1, lists))))
}

function requireOpen(closed: AbortSignal | undefined): void {
  if (closed?.aborted) throw new AppError('unavailable', 'The client has closed the connection')
}

const withNormalEmail = (report: ProviderReport): ProviderReport => ({
  ...report,
  email: report.email === null ? null : (normalizeEmail(report.email) ?? null),
})
