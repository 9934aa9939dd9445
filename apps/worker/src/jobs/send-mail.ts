import {
  claimMail,
  type ClaimedMail,
  isFinalOutcome,
  type MailOutcome,
  recordMailOutcome,
} from '@rapport/core/mail/mails.ts'
import type { OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import { reportRefusal } from '@rapport/core/operations/mail/report-refusal.ts'
import { isLinkUsable } from '@rapport/core/operations/mail/is-link-usable.ts'
import { renderMail } from '@rapport/core/operations/mail/render-mail.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { requeueWork } from '@rapport/core/work/publish.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { type RunEnd, runClaimed } from './run-claimed.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'

/** Sends a single mail. Throws if the mail should be retried: the queue then runs the job again after a delay. */
export async function sendMail(deps: WorkerDeps, job: WorkJob): Promise<void> {
  // Before the claim: after a crash, a claimed mail counts as sent.
  await deps.mailRateLimiter.waitForSingle()
  if (deps.stopping.aborted) return requeueWork(ctxOf(deps, job), [job.id])
  await runClaimed(deps, job, { claim: claimMail, work: (ctx, mail) => sendClaimedMail(deps, ctx, mail) })
}

async function sendClaimedMail(deps: WorkerDeps, ctx: Ctx, mail: ClaimedMail): Promise<RunEnd> {
  const rendered = await render(deps, ctx, mail)
  const outcome = 'outgoing' in rendered ? await deps.mail.send(rendered.outgoing, mail.kind) : rendered
  const details = { requestId: ctx.requestId, mailId: mail.id, kind: mail.kind, attempt: mail.attempts }
  if (outcome.kind === 'sent') deps.log.debug(details, 'mail sent')
  else deps.log.info({ ...details, reason: outcome.error }, 'mail not sent')
  if (outcome.kind === 'refused' && outcome.bounce && isFinalOutcome(mail, outcome)) {
    const refusal = { mailId: mail.id, email: mail.toAddress, bounce: outcome.bounce, detail: outcome.error }
    await retryWhileDatabaseDown(deps, () => reportRefusal(ctx, refusal))
  }
  const next = await retryWhileDatabaseDown(deps, () => recordMailOutcome(ctx, mail, outcome))
  if (next === 'retry' && outcome.kind !== 'sent') throw new Error(outcome.error)
  return 'done'
}

const nothingToSend = 'Nothing to send: the email is no longer needed'

/** Returns the mail, or the outcome if there is none to send. */
async function render(
  deps: WorkerDeps,
  ctx: Ctx,
  mail: ClaimedMail,
): Promise<{ outgoing: OutgoingMail } | Extract<MailOutcome, { kind: 'refused' }>> {
  try {
    const outgoing = (await isLinkUsable(ctx, mail)) ? await renderMail(ctx, mail) : undefined
    if (!outgoing) return { kind: 'refused', temporary: false, isUnattempted: true, error: nothingToSend }
    return { outgoing }
  } catch (error) {
    // A template that exceeds its limits would exceed them again, and a deleted list stays deleted.
    if (error instanceof AppError && error.code !== 'unavailable')
      return { kind: 'refused', temporary: false, isUnattempted: true, error: error.message }
    deps.log.error({ err: error, requestId: ctx.requestId, mailId: mail.id }, 'mail could not be rendered')
    return { kind: 'refused', temporary: true, isUnattempted: true, error: 'The mail could not be rendered' }
  }
}
