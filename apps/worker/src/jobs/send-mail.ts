import { renderEmail } from '@rapport/core/emails/email-mail.ts'
import {
  askAgain,
  claimEmail,
  type ClaimedEmail,
  type EmailOutcome,
  isFinalEmailOutcome,
  recordEmailOutcome,
} from '@rapport/core/emails/send-email.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import {
  type AnyMailKind,
  claimMail,
  type ClaimedMail,
  isFinalOutcome,
  type MailOutcome,
  recordMailOutcome,
} from '@rapport/core/mail/mails.ts'
import type { EncodedMail, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import { askAgainForMail, mayBeMailed, nothingToSend } from '@rapport/core/operations/mail/may-be-mailed.ts'
import { renderMail } from '@rapport/core/operations/mail/render-mail.ts'
import { type Refusal, reportRefusal } from '@rapport/core/operations/mail/report-refusal.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { Claim } from '@rapport/core/work/claims.ts'
import { requeueWork } from '@rapport/core/work/publish.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { type RunEnd, runClaimed } from './run-claimed.ts'

type Unsent = Exclude<EmailOutcome, { kind: 'sent' }>

/** How one kind of single mails is sent. */
interface SingleMail<Claimed, Outcome extends EmailOutcome> {
  claim: (ctx: Ctx, claim: Claim) => Promise<Claimed | undefined>
  /** Returns undefined if there is nothing to send any more. */
  render: (ctx: Ctx, mail: Claimed) => Promise<OutgoingMail | EncodedMail | undefined>
  /** Asks again before a mail that waited for its connection: see `LateCheck`. */
  ask: (ctx: Ctx, mail: Claimed) => Promise<(Outcome & Unsent) | undefined>
  isFinal: (mail: Claimed, outcome: Outcome) => boolean
  record: (ctx: Ctx, mail: Claimed, outcome: Outcome) => Promise<'done' | 'retry'>
  /** How a refusal names the mail. */
  refused: (mail: Claimed) => Pick<Refusal, 'email'> & ({ mailId: ClaimedMail['id'] } | { emailId: ClaimedEmail['id'] })
}

interface Claimed {
  id: string
  kind: AnyMailKind
  attempts: number
}

/** Sends a service mail. Throws if it should be retried: the queue then runs the job again after a delay. */
export const sendMail = sendSingle<ClaimedMail, MailOutcome>({
  claim: claimMail,
  render: async (ctx, mail) => ((await mayBeMailed(ctx, mail)) ? await renderMail(ctx, mail) : undefined),
  ask: askAgainForMail,
  isFinal: isFinalOutcome,
  record: recordMailOutcome,
  refused: ({ id, toAddress }) => ({ mailId: id, email: toAddress }),
})

/** Sends an email from a template. */
export const sendEmail = sendSingle<ClaimedEmail, EmailOutcome>({
  claim: claimEmail,
  render: renderEmail,
  ask: askAgain,
  isFinal: isFinalEmailOutcome,
  record: recordEmailOutcome,
  refused: ({ id, contact }) => ({ emailId: id, email: contact.email }),
})

function sendSingle<Mail extends Claimed, Outcome extends EmailOutcome>(of: SingleMail<Mail, Outcome>) {
  return async (deps: WorkerDeps, job: WorkJob): Promise<void> => {
    // Before the claim: after a crash, a claimed mail counts as sent.
    await deps.mailRateLimiter.waitForSingle()
    if (deps.stopping.aborted) return requeueWork(ctxOf(deps, job), [job.id])
    const askedAt = Date.now()
    await runClaimed(deps, job, {
      claim: of.claim,
      work: (ctx, mail) => sendClaimed(deps, ctx, { of, mail, askedAt }),
    })
  }
}

interface Sending<Mail, Outcome extends EmailOutcome> {
  of: SingleMail<Mail, Outcome>
  mail: Mail
  /** Before the claim, which asked whether the mail may go. */
  askedAt: number
}

async function sendClaimed<Mail extends Claimed, Outcome extends EmailOutcome>(
  deps: WorkerDeps,
  ctx: Ctx,
  { of, mail, askedAt }: Sending<Mail, Outcome>,
): Promise<RunEnd> {
  const rendered = await render(deps, ctx, { of, mail })
  const check = { askedAt, ask: () => of.ask(ctx, mail).catch(lostConnection) }
  const outcome = (
    'outgoing' in rendered ? await deps.mail.send(rendered.outgoing, mail.kind, check) : rendered
  ) as Outcome
  const details = { requestId: ctx.requestId, mailId: mail.id, kind: mail.kind, attempt: mail.attempts }
  if (outcome.kind === 'sent') deps.log.debug(details, 'mail sent')
  else deps.log.info({ ...details, reason: outcome.error }, 'mail not sent')
  if (outcome.kind === 'refused' && outcome.bounce && of.isFinal(mail, outcome)) {
    const refusal = { ...of.refused(mail), bounce: outcome.bounce, detail: outcome.error }
    await retryWhileDatabaseDown(deps, () => reportRefusal(ctx, refusal))
  }
  const next = await retryWhileDatabaseDown(deps, () => of.record(ctx, mail, outcome))
  if (next === 'retry' && outcome.kind !== 'sent') throw new Error(outcome.error)
  return 'done'
}

const lostConnection = () =>
  ({ kind: 'refused', temporary: true, error: 'The email waited too long for a connection' }) as const

/** Returns the mail, or the outcome if there is none to send. */
async function render<Mail extends Claimed, Outcome extends EmailOutcome>(
  deps: WorkerDeps,
  ctx: Ctx,
  { of, mail }: Omit<Sending<Mail, Outcome>, 'askedAt'>,
): Promise<{ outgoing: OutgoingMail | EncodedMail } | Extract<MailOutcome, { kind: 'refused' }>> {
  try {
    const outgoing = await of.render(ctx, mail)
    return outgoing ? { outgoing } : nothingToSend
  } catch (error) {
    // A template that exceeds its limits would exceed them again, and a deleted list stays deleted.
    if (error instanceof AppError && error.code !== 'unavailable')
      return { kind: 'refused', temporary: false, isUnattempted: true, error: error.message }
    deps.log.error({ err: error, requestId: ctx.requestId, mailId: mail.id }, 'mail could not be rendered')
    return { kind: 'refused', temporary: true, isUnattempted: true, error: 'The mail could not be rendered' }
  }
}
