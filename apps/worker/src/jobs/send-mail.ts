import { claimMail, type ClaimedMail, type MailOutcome, recordMailOutcome } from '@rapport/core/mail/mails.ts'
import { renderMail } from '@rapport/core/operations/mail/render-mail.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { requeueWork } from '@rapport/core/work/publish.ts'
import type { KnownWorkJob } from '@rapport/core/work/queues.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { type RunEnd, runClaimed } from './run-claimed.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'

/** Sends a single mail. Throws if the mail should be retried: the queue then runs the job again after a delay. */
export async function sendMail(deps: WorkerDeps, job: KnownWorkJob): Promise<void> {
  // Before the claim: a claimed mail may have been sent.
  await deps.mailRateLimiter.waitForSingle()
  if (deps.stopping.aborted) return requeueWork(ctxOf(deps, job), [job.id])
  await runClaimed(deps, job, { claim: claimMail, work: (ctx, mail) => sendClaimedMail(deps, ctx, mail) })
}

async function sendClaimedMail(deps: WorkerDeps, ctx: Ctx, mail: ClaimedMail): Promise<RunEnd> {
  const outcome = await attempt(deps, ctx, mail)
  const details = { requestId: ctx.requestId, mailId: mail.id, kind: mail.kind, attempt: mail.attempts }
  if (outcome.kind === 'sent') deps.log.debug(details, 'mail sent')
  else deps.log.info({ ...details, reason: outcome.error }, 'mail not sent')
  const next = await retryWhileDatabaseDown(deps, () => recordMailOutcome(ctx, mail, outcome))
  if (next === 'retry') throw new Error(outcome.kind === 'sent' ? '' : outcome.error)
  return 'done'
}

async function attempt(deps: WorkerDeps, ctx: Ctx, mail: ClaimedMail): Promise<MailOutcome> {
  try {
    const outgoing = await renderMail(ctx, mail)
    if (!outgoing) return { kind: 'refused', temporary: false, error: 'Nothing to send: the record no longer exists' }
    return await deps.mail.send(outgoing, mail.kind)
  } catch (error) {
    // A template that exceeds its limits would exceed them again.
    if (error instanceof AppError && error.code === 'validation_error')
      return { kind: 'refused', temporary: false, error: error.message }
    deps.log.error({ err: error, requestId: ctx.requestId, mailId: mail.id }, 'mail could not be rendered')
    return { kind: 'refused', temporary: true, error: 'The mail could not be rendered' }
  }
}
