import { claimMail, type Mail, type MailOutcome, recordMailOutcome, releaseMail } from '@rapport/core/mail/mails.ts'
import { renderMail } from '@rapport/core/operations/render-mail.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { delayUnclaimableWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, ctxOf, type WorkerDeps, runExclusively } from '../worker-deps.ts'

/** Sends a single mail. Throws when it is to be tried again, which the queue then does after a pause. */
export function sendMail(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runExclusively(deps, job.id, async () => {
    const ctx = ctxOf(deps, job)
    const mail = await claimOrRelease(
      () => claimMail(ctx, job.id, deps.workerId),
      () => releaseMail(ctx, job.id, deps.workerId),
    )
    if (!mail) return delayUnclaimableWork(deps.db, job.id)
    const outcome = await attempt(deps, ctx, mail)
    const details = { requestId: ctx.requestId, mailId: mail.id, kind: mail.kind, attempt: mail.attempts }
    if (outcome.kind === 'sent') deps.log.debug(details, 'a mail was sent')
    else deps.log.info({ ...details, reason: outcome.error }, 'a mail was not sent')
    const next = await retryWhileDatabaseDown(() => recordMailOutcome(ctx, mail, outcome))
    if (next === 'retry') throw new Error(outcome.kind === 'sent' ? '' : outcome.error)
  })
}

async function attempt(deps: WorkerDeps, ctx: Ctx, mail: Mail): Promise<MailOutcome> {
  try {
    const outgoing = await renderMail(ctx, mail)
    if (!outgoing) return { kind: 'refused', temporary: false, error: 'Its reason is gone: nothing to send' }
    return await deps.mail.send(outgoing)
  } catch (error) {
    // A template that exceeds its limits does so again.
    if (error instanceof AppError && error.code === 'invalid')
      return { kind: 'refused', temporary: false, error: error.message }
    deps.log.error({ err: error, requestId: ctx.requestId, mailId: mail.id }, 'a mail could not be made')
    return { kind: 'refused', temporary: true, error: 'The mail could not be made' }
  }
}
