import { limitInTurns } from '../../kernel/concurrency/limit-in-turns.ts'
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
  /** Runs the work when it is the turn of the workspace. Default: see `inMessageTurn` and `inRecordingTurn`. */
  inTurn?: Turn
}

type Turn = <Result>(workspaceId: string, work: () => Promise<Result>, closed?: AbortSignal) => Promise<Result>

const message = 'Another message of the hook is being recorded; send this one again'
/**
 * Of a workspace, one message: of those that wait, only the bytes are in memory. They wait for long, because each that is
 * refused is sent again.
 */
const inMessageTurn = limitInTurns(Infinity, { maxPerWorkspace: 1, maxWaitMs: 30_000, message })
/** A message of a megabyte has 8,000 events: others take their turns between its transactions. */
const inRecordingTurn = limitInTurns(2, { maxPerWorkspace: 1, rests: true, maxWaitMs: 10_000, message })
const maxSubscriptions = 10_000

/**
 * Verifies a message of a mail provider and records its reports, some in a transaction, one message of a workspace at a
 * time: a workspace must not use all connections, nor the processor, with messages to its own hook. A message that is
 * repeated, or that failed half-way, is safe to send again: a repeated report is a no-op. Throws `unauthorized` if there
 * is no such hook or if the signature is wrong, and `validation_error` if the signed message is malformed.
 */
export async function receiveHookMessage(base: BaseCtx, received: ReceivedMessage): Promise<void> {
  const { hook } = await requireHook(base, received)
  const { closed, inTurn } = received
  const workspaceId = hook.workspaceId ?? hook.id
  const takeTurn = <Result>(work: () => Promise<Result>) => (inTurn ?? inRecordingTurn)(workspaceId, work, closed)
  await (inTurn ?? inMessageTurn)(workspaceId, () => recordMessage(base, { received, takeTurn }), closed)
}

async function requireHook(base: BaseCtx, { hookId: id, provider }: ReceivedMessage) {
  const found = await findMailHook(base, { id, provider })
  if (!found) throw refusedMessage()
  return found
}

interface Recording {
  received: ReceivedMessage
  takeTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
}

async function recordMessage(base: BaseCtx, { received, takeTurn }: Recording): Promise<void> {
  // Again: the hook may have been deleted while the message waited for its turn.
  const { hook, secret } = await requireHook(base, received)
  const message = await readProviderMessage[hook.provider](received, { ...received, secret })
  await touchMailHook(base.db, hook)
  if ('parts' in message) {
    for (const readPart of message.parts) {
      const reports = await takeTurn(async () => readPart())
      await recordReports(base, hook, { reports, takeTurn })
    }
    return
  }
  const { reports, signedToken } = message
  if (signedToken === undefined) return recordReports(base, hook, { reports, takeTurn })
  if (reports.length === 0) return
  // All in one transaction with the token: no turn is awaited in it.
  const recordOnce = () =>
    inRounds(base, async (base) => {
      if (!(await acceptToken(base.db, hook.id, signedToken))) return
      await recordReports(base, hook, { reports, takeTurn: (work) => work() })
    })
  await takeTurn(recordOnce)
}

async function recordReports(
  base: BaseCtx,
  hook: MailHookRow,
  { reports, takeTurn }: Pick<Recording, 'takeTurn'> & { reports: readonly ProviderReport[] },
): Promise<void> {
  if (reports.length === 0) return
  const normal = reports.map(withNormalEmail)
  const ids =
    hook.workspaceId === null ? await listReportedWorkspaces(base, normal) : normal.map(() => hook.workspaceId)
  const byWorkspace = Map.groupBy(normal.entries(), ([at]) => ids[at])
  for (const [workspaceId, reported] of byWorkspace) {
    if (!workspaceId) continue
    const ctx = publicContext(base, workspaceId)
    const size = await readTransactionSize(ctx)
    for (let first = 0; first < reported.length; first += size) {
      const some = reported.slice(first, first + size).map(([, report]) => report)
      await takeTurn(() => reportMailEvents(ctx, some))
    }
  }
}

/** How many contacts a transaction changes: all of their subscriptions may end, and each emits an event. */
async function readTransactionSize(ctx: Ctx): Promise<number> {
  return Math.max(1, Math.floor(maxSubscriptions / Math.max(1, await countLists(ctx))))
}

const withNormalEmail = (report: ProviderReport): ProviderReport => ({
  ...report,
  email: report.email === null ? null : (normalizeEmail(report.email) ?? null),
})
