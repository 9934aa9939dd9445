import {
  type CampaignMail,
  type CampaignRenderer,
  loadCampaignRenderer,
} from '@rapport/core/campaigns/campaign-mail.ts'
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { pauseCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { findRateProblem } from '@rapport/core/campaigns/find-rate-problem.ts'
import {
  minGroupSizeToPause,
  decideOutcomes,
  type RecipientOutcome,
  type SmtpOutcome,
} from '@rapport/core/campaigns/outcomes.ts'
import {
  askAgain,
  claimBatch,
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  finishBatch,
  recordRecipientOutcomes,
  skipRecipients,
} from '@rapport/core/campaigns/sending.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { reportRefusal } from '@rapport/core/operations/mail/report-refusal.ts'
import type { TemplateFault } from '@rapport/core/rendering/template-sources.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { runClaimed } from './run-claimed.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'

/**
 * Sends a batch of a campaign group by group: claim the recipients, send, record the outcomes. A run that claims the
 * batch ends in one of three ways:
 * - Done: the batch is finished; the last one completes the campaign.
 * - Requeue (shutdown, pause, cancel, suspension, lost claim): the rest is for another job.
 * - Error: the queue retries the job after a delay. Recipients still SENDING become INTERRUPTED. Also thrown if every
 *   mail of a group was refused, and if recipients are still WAITING at the end.
 */
export function sendCampaignBatch(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runClaimed(deps, job, {
    claim: claimBatch,
    async work(ctx, batch) {
      const end = batch.isCanceled ? await skipRecipients(ctx, batch) : await sendGroups(deps, ctx, batch)
      if (end === 'requeue') return end
      if ((await retryWhileDatabaseDown(deps, () => finishBatch(ctx, batch))) === 'retry')
        throw new Error('Some recipients are still WAITING; retrying')
      return 'done'
    },
  })
}

/** Returns `requeue` if it ends before every group of the batch was processed. */
async function sendGroups(deps: WorkerDeps, ctx: Ctx, batch: ClaimedBatch): Promise<'done' | 'requeue'> {
  const { mailRateLimiter } = deps
  const rateProblem = await findRateProblem(ctx, batch.campaignId)
  if (rateProblem !== undefined) return pauseForReason(deps, ctx, { batch, reason: rateProblem })
  const { render, maxGroupSize, senderProblem } = await loadCampaignRenderer(ctx, batch.campaignId)
  if (senderProblem !== undefined) return pauseForReason(deps, ctx, { batch, reason: senderProblem })
  const groupSize = Math.min(mailRateLimiter.groupSize, maxGroupSize)
  // Counted over groups, which may be smaller than `minGroupSizeToPause`.
  let faultsInARow = 0
  for (let start = 0; start < batch.contactUuids.length; start += groupSize) {
    const group = batch.contactUuids.slice(start, start + groupSize)
    await mailRateLimiter.wait(group.length)
    if (deps.stopping.aborted) return 'requeue'
    const askedAt = Date.now()
    const { isStopped, recipients } = await claimRecipients(ctx, batch, group)
    if (isStopped) return 'requeue'
    const ask = (recipient: ClaimedRecipient) => askForMail(ctx, batch, recipient)
    const smtpOutcomes = await sendGroup(deps, render, { recipients, askedAt, ask })
    const { outcomes, refusal } = decideOutcomes(smtpOutcomes)
    await reportRefusals(deps, ctx, { batch, recipients, outcomes })
    await retryWhileDatabaseDown(deps, () => recordRecipientOutcomes(ctx, batch, outcomes))
    const sent = outcomes.filter(({ status }) => status === 'SENT').length
    const { requestId } = ctx
    deps.log.debug({ requestId, campaignId: batch.campaignId, mails: outcomes.length, sent }, 'mail group processed')
    // The rest of the batch would be refused as well: the queue retries the job after a delay.
    if (refusal?.isFinal === false) throw new Error(`No mail of the group was sent; retrying: ${refusal.reason}`)
    const haveFault = smtpOutcomes.every((outcome) => outcome.hasTemplateFault)
    faultsInARow = haveFault ? faultsInARow + smtpOutcomes.length : 0
    const reason = refusal?.reason ?? (await findTemplateFault(ctx, batch, { outcomes, faultsInARow }))
    if (reason !== undefined) await pauseForReason(deps, ctx, { batch, reason })
    if (reason !== undefined && areWaiting(outcomes)) return 'requeue'
  }
  return 'done'
}

/**
 * Before the outcomes are recorded, so that a recipient who is FAILED for a HARD bounce is suppressed, also if this
 * worker crashes between the two.
 */
async function reportRefusals(
  deps: WorkerDeps,
  ctx: Ctx,
  {
    batch,
    recipients,
    outcomes,
  }: { batch: ClaimedBatch; recipients: ClaimedRecipient[]; outcomes: RecipientOutcome[] },
) {
  const emails = new Map(recipients.map(({ id, email }) => [id, email]))
  for (const { contactId, bounce, error } of outcomes) {
    const email = emails.get(contactId)
    if (!bounce || email === undefined) continue
    const recipient = { campaignId: batch.campaignId, contactId }
    const refusal = { recipient, email, bounce, detail: error ?? '' }
    await retryWhileDatabaseDown(deps, () => reportRefusal(ctx, refusal))
  }
}

/** Why a mail that waited for its connection is not sent after all; undefined if it may go. */
type Unsent = { kind: 'withdrawn'; error: string } | Extract<MailOutcome, { kind: 'refused' }>

async function askForMail(ctx: Ctx, batch: ClaimedBatch, recipient: ClaimedRecipient): Promise<Unsent | undefined> {
  const found = await askAgain(ctx, batch, recipient).catch(() => undefined)
  if (!found) return { kind: 'refused', temporary: true, error: 'The mail waited too long for a connection' }
  return found.reason === null ? undefined : { kind: 'withdrawn', error: found.reason }
}

interface Group {
  recipients: ClaimedRecipient[]
  /** When the recipients were claimed. */
  askedAt: number
  ask: (recipient: ClaimedRecipient) => Promise<Unsent | undefined>
}

/**
 * Renders the mails of a group and sends them concurrently. If rendering throws, or exceeds the time limit for every
 * recipient of a large enough group at the first attempt, the failure affects all mails: the recipients remain WAITING. At
 * later attempts, the group contains only recipients that failed before, so another failure of all of them does not
 * affect all mails.
 */
async function sendGroup(
  deps: WorkerDeps,
  render: CampaignRenderer['render'],
  { recipients, askedAt, ask }: Group,
): Promise<SmtpOutcome[]> {
  const rendered = await render(recipients).catch((error: unknown) => {
    deps.log.error({ err: error }, 'mails could not be rendered')
    return undefined
  })
  const isSlowOnFirstAttempt = (result: CampaignMail, index: number) =>
    'fault' in result && result.fault.isSlow === true && recipients[index]?.attempts === 1
  const isLarge = recipients.length >= minGroupSizeToPause
  const failedForAll = rendered === undefined || (isLarge && rendered.every(isSlowOnFirstAttempt))
  const sending = recipients.map(async (recipient, index): Promise<SmtpOutcome> => {
    const result = rendered?.[index]
    if (result && 'mail' in result) {
      const check = { askedAt, ask: () => ask(recipient) }
      return { ...(await deps.mail.send(result.mail, { kind: 'CAMPAIGN' }, check)), recipient }
    }
    const error = result ? describeFault(result.fault) : renderingFailed
    // A mail that is empty for one recipient may have content for the next one.
    const hasTemplateFault = result !== undefined && !result.fault.isEmpty
    // If rendering was slow for some recipients only, the cause may be a busy machine: they get another attempt.
    const temporary = !result || (result.fault.isSlow === true && !failedForAll)
    return { kind: 'refused', temporary, error, affectsAll: failedForAll, recipient, hasTemplateFault }
  })
  return Promise.all(sending)
}

const renderingFailed = 'The mail could not be rendered'

function describeFault({ message, isEmpty }: TemplateFault): string {
  return isEmpty ? `The mail was not sent, because ${message}` : `${renderingFailed}: ${message}`
}

/**
 * Returns the fault of the template unless it may be that of a few recipients: at least `minGroupSizeToPause` in a row have
 * one, or the template is slow for the whole group and no mail of the campaign was sent.
 */
async function findTemplateFault(
  ctx: Ctx,
  batch: ClaimedBatch,
  { outcomes, faultsInARow }: { outcomes: RecipientOutcome[]; faultsInARow: number },
): Promise<string | undefined> {
  const [first] = outcomes
  if (!first?.error || faultsInARow === 0) return undefined
  if (faultsInARow >= minGroupSizeToPause) return first.error
  return areWaiting(outcomes) && (await readStats(ctx, batch.campaignId)).sent === 0 ? first.error : undefined
}

const areWaiting = (outcomes: RecipientOutcome[]) => outcomes.every(({ status }) => status === 'WAITING')

/** Pauses the campaign, unless it was canceled or completed in the meantime. */
async function pauseForReason(
  deps: WorkerDeps,
  ctx: Ctx,
  { batch, reason }: { batch: ClaimedBatch; reason: string },
): Promise<'requeue'> {
  try {
    await retryWhileDatabaseDown(deps, () => pauseCampaign(ctx, batch.campaignId, reason))
    deps.log.warn({ requestId: ctx.requestId, campaignId: batch.campaignId, reason }, 'campaign paused')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
  return 'requeue'
}
