import { claimMail, type Mail, type MailOutcome, recordMailOutcome, releaseMail } from '@rapport/core/mail/mails.ts'
import { releaseOrphanedClaim } from '@rapport/core/operations/orphaned-claims.ts'
import { renderMail } from '@rapport/core/operations/render-mail.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { delayUnclaimableWork, requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, ctxOf, type WorkerDeps, runExclusively } from '../worker-deps.ts'

/** Sends a single mail. Throws if the mail should be retried: the queue then runs the job again after a delay. */
export function sendMail(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runExclusively(deps, job.id, async () => {
    const ctx = ctxOf(deps, job)
    await deps.mailRateLimiter.waitForSingle()
    if (deps.stopping.aborted) return requeueWork(ctx, [job.id])
    const mail = await claimOrRelease(
      deps,
      () => claimMail(ctx, job.id, deps.workerId),
      () => releaseMail(ctx, job.id, deps.workerId),
    )
    if (!mail) return delayUnclaimableWork(ctx, job.id)
    const outcome = await attempt(deps, ctx, mail)
    const details = { requestId: ctx.requestId, mailId: mail.id, kind: mail.kind, attempt: mail.attempts }
    if (outcome.kind === 'sent') deps.log.debug(details, 'mail sent')
    else deps.log.info({ ...details, reason: outcome.error }, 'mail not sent')
    const next = await record(deps, ctx, { mail, outcome })
    if (next === 'retry') throw new Error(outcome.kind === 'sent' ? '' : outcome.error)
  })
}

/**
 * Records the outcome. After an error that is not temporary, the claim is released as after a crash: a claim names the
 * worker, so a later job that undoes its own lost claim would also undo this one, and the mail would be sent again.
 */
async function record(deps: WorkerDeps, ctx: Ctx, { mail, outcome }: { mail: Mail; outcome: MailOutcome }) {
  try {
    return await retryWhileDatabaseDown(deps, () => recordMailOutcome(ctx, mail, outcome))
  } catch (error) {
    const release = () => releaseOrphanedClaim(deps.db, deps.workerId, uuidOf(mail.id))
    deps.metrics.countInterrupted(await retryWhileDatabaseDown(deps, release))
    throw error
  }
}

async function attempt(deps: WorkerDeps, ctx: Ctx, mail: Mail): Promise<MailOutcome> {
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
