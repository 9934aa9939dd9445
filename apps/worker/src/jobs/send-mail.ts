/**
 * How single mails are sent. A service mail is claimed, sent and recorded by its job. A job of an email from a template
 * does the same with its email, and then with the emails of the workspace that wait without a job, in groups: their
 * claims share a statement, and so do the outcomes of those that end at the same time.
 */
import { claimEmails, type ClaimedEmail, findUnpublishedEmails } from '@rapport/core/emails/claim-emails.ts'
import { renderEmails } from '@rapport/core/emails/email-mail.ts'
import {
  askAgain,
  type EmailOutcome,
  isFinalEmailOutcome,
  recordEmailOutcomes,
} from '@rapport/core/emails/record-emails.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { hideValues } from '@rapport/core/mail/bounces/hide-values.ts'
import {
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
import { requeueWork, unpublishWork } from '@rapport/core/work/publish.ts'
import { publishAfterCommit } from '@rapport/core/work/publisher.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { runClaimed, runClaims } from './run-claimed.ts'

type Refused = Extract<MailOutcome, { kind: 'refused' }>

/** What differs between the kinds of single mails. */
interface SingleMail<Mail, Outcome extends EmailOutcome> {
  /** Asks again before a mail that waited for its connection: see `LateCheck`. */
  ask: (ctx: Ctx, mail: Mail) => Promise<(Outcome & { error: string }) | undefined>
  isFinal: (mail: Mail, outcome: Outcome) => boolean
  /** How a refusal names the mail. */
  refused: (mail: Mail) => Pick<Refusal, 'email'> & ({ mailId: ClaimedMail['id'] } | { emailId: ClaimedEmail['id'] })
}

const serviceMails: SingleMail<ClaimedMail, MailOutcome> = {
  ask: askAgainForMail,
  isFinal: isFinalOutcome,
  refused: ({ id, toAddress }) => ({ mailId: id, email: toAddress }),
}

const emails: SingleMail<ClaimedEmail, EmailOutcome> = {
  ask: askAgain,
  isFinal: isFinalEmailOutcome,
  refused: ({ id, contact }) => ({ emailId: id, email: contact.email }),
}

/** Sends a service mail. Throws if it should be retried: the queue then runs the job again after a delay. */
export async function sendMail(deps: WorkerDeps, job: WorkJob): Promise<void> {
  deps.jobShares.begin('single', job.id)
  try {
    await sendServiceMail(deps, job)
  } finally {
    deps.jobShares.end('single')
  }
}

async function sendServiceMail(deps: WorkerDeps, job: WorkJob): Promise<void> {
  // Before the claim: after a crash, a claimed mail counts as sent.
  await deps.mailRateLimiter.waitForSingles(1)
  if (deps.stopping.aborted) return requeueWork(ctxOf(deps, job), [job.id])
  const askedAt = Date.now()
  await runClaimed(deps, job, {
    claim: claimMail,
    async work(ctx, mail) {
      const rendered = await renderServiceMail(ctx, mail).catch((error: unknown) =>
        describeFault(deps, ctx, { mail, error }),
      )
      const outcome = await attempt(deps, ctx, { of: serviceMails, mail, rendered, askedAt })
      const next = await retryWhileDatabaseDown(deps, () => recordMailOutcome(ctx, mail, outcome))
      if (next === 'retry' && outcome.kind !== 'sent') throw new Error(outcome.error)
      return 'done'
    },
  })
}

const renderServiceMail = async (ctx: Ctx, mail: ClaimedMail) =>
  (await mayBeMailed(ctx, mail)) ? ((await renderMail(ctx, mail)) ?? nothingToSend) : nothingToSend

/** A crash interrupts at most one group of each job. More of them would only wait for a connection. */
const maxGroupSize = 5
/** After so many groups, the emails of other workspaces have their turn. */
const maxGroups = 10

/** Sends an email from a template, and then those of the workspace that wait without a job. */
export async function sendEmail(deps: WorkerDeps, job: WorkJob): Promise<void> {
  if (!deps.jobShares.begin(job.workspaceId, job.id)) return
  try {
    await sendEmails(deps, job)
  } finally {
    // Left at this moment, or to a job that failed.
    await unpublishWork(ctxOf(deps, job), deps.jobShares.end(job.workspaceId))
  }
}

async function sendEmails(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const ctx = ctxOf(deps, job)
  const { workspaceId, kind } = job
  const limit = Math.min(deps.mailRateLimiter.groupSize, maxGroupSize)
  const isLive = (id: string) => [...deps.liveClaims].some((claim) => 'id' in claim && claim.id === id)
  let [ids, areFound, offset] = [[job.id], false, 0]
  async function findNext(): Promise<string[]> {
    // Other jobs of this process are about to claim some.
    const found = await findUnpublishedEmails(ctx, { limit: 5 * limit, offset })
    return found.filter((id) => !isLive(id)).slice(0, limit)
  }
  for (let group = 1; ids.length > 0; group++) {
    await deps.mailRateLimiter.waitForSingles(ids.length)
    if (deps.stopping.aborted) return unpublishWork(ctx, ids)
    const jobs = ids.map((id) => ({ ...job, id }))
    // Another worker takes from the start of the queue, too.
    if ((await sendGroup(deps, jobs)) < ids.length && areFound) offset += limit
    if (group === maxGroups) {
      const [next] = await findNext()
      if (next !== undefined) publishAfterCommit(ctx.db, { workspaceId, kind, id: next })
      return
    }
    const left = deps.jobShares.takeLeft(workspaceId, limit)
    areFound = left.length === 0
    ids = areFound ? await findNext() : left
  }
}

/** Claims emails and sends them concurrently. Returns how many could be claimed. */
async function sendGroup(deps: WorkerDeps, jobs: readonly WorkJob[]): Promise<number> {
  const askedAt = Date.now()
  return await runClaims<ClaimedEmail>(deps, jobs, {
    claim: claimEmails,
    async work(ctx, claimed) {
      const record = shareCalls((ended: Ended[]) => retryWhileDatabaseDown(deps, () => recordEmailOutcomes(ctx, ended)))
      const mails = await renderEmails(ctx, claimed)
      const sending = claimed.map(async (email) => {
        const own = { ...ctx, ...email.origin }
        const mail = mails.get(email.id) ?? new Error('renderEmails returned fewer emails')
        const rendered = mail instanceof Error ? describeFault(deps, own, { mail: email, error: mail }) : mail
        const outcome = await attempt(deps, own, { of: emails, mail: email, rendered, askedAt })
        await record({ email, outcome })
      })
      await Promise.all(sending)
    },
  })
}

interface Ended {
  email: ClaimedEmail
  outcome: EmailOutcome
}

/** The items that arrive during a call share the next one. Unlike `microBatch`, no call starts beside another. */
function shareCalls<Item>(call: (items: Item[]) => Promise<void>): (item: Item) => Promise<void> {
  let waiting: Item[] = []
  let calling: Promise<void> | undefined
  async function callForAll() {
    try {
      while (waiting.length > 0) await call(waiting.splice(0))
    } finally {
      waiting = []
      calling = undefined
    }
  }
  return (item) => {
    waiting.push(item)
    return (calling ??= callForAll())
  }
}

interface Attempt<Mail, Outcome extends EmailOutcome> {
  of: SingleMail<Mail, Outcome>
  mail: Mail
  /** The mail, or the outcome if there is none to send. */
  rendered: OutgoingMail | EncodedMail | Refused
  /** Before the claim, which asked whether the mail may go. */
  askedAt: number
}

/** Sends a mail. Reports that its address bounced before the caller records it. */
async function attempt<Mail extends ClaimedMail | ClaimedEmail, Outcome extends EmailOutcome>(
  deps: WorkerDeps,
  ctx: Ctx,
  { of, mail, rendered, askedAt }: Attempt<Mail, Outcome>,
): Promise<Outcome> {
  const check = { askedAt, ask: () => of.ask(ctx, mail).catch(() => lostConnection) }
  const outcome = (
    'kind' in rendered ? rendered : withoutValues(await deps.mail.send(rendered, mail, check))
  ) as Outcome
  const details = { requestId: ctx.requestId, mailId: mail.id, kind: mail.kind, attempt: mail.attempts }
  if (outcome.kind === 'sent') deps.log.debug(details, 'mail sent')
  else deps.log.info({ ...details, reason: outcome.error }, 'mail not sent')
  if (outcome.kind === 'refused' && outcome.bounce && of.isFinal(mail, outcome)) {
    const refusal = { ...of.refused(mail), bounce: outcome.bounce, detail: outcome.error }
    await retryWhileDatabaseDown(deps, () => reportRefusal(ctx, refusal))
  }
  return outcome
}

const withoutValues = (outcome: EmailOutcome): EmailOutcome =>
  'isResponse' in outcome ? { ...outcome, error: hideValues(outcome.error) } : outcome

const lostConnection: Refused = {
  kind: 'refused',
  temporary: true,
  error: 'The email waited too long for a connection',
}

function describeFault(
  deps: WorkerDeps,
  { requestId }: Ctx,
  { mail, error }: { mail: { id: string }; error: unknown },
): Refused {
  // A template that exceeds its limits would exceed them again, and a deleted list stays deleted.
  if (error instanceof AppError && error.code !== 'unavailable')
    return { kind: 'refused', temporary: false, isUnattempted: true, error: error.message }
  deps.log.error({ err: error, requestId, mailId: mail.id }, 'mail could not be rendered')
  return { kind: 'refused', temporary: true, isUnattempted: true, error: 'The mail could not be rendered' }
}
