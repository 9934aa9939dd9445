import { type CampaignRenderer, compileCampaign } from '@rapport/core/campaigns/campaign-mail.ts'
import { pauseCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { outcomesFor } from '@rapport/core/campaigns/outcomes.ts'
import {
  claimBatch,
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  finishBatch,
  interruptAndReleaseBatch,
  releaseAndRequeueBatch,
  settleRecipients,
  skipRecipients,
  undoRecipientClaims,
} from '@rapport/core/campaigns/sending.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, ctxOf, type WorkerDeps, runExclusively } from '../worker-deps.ts'

/**
 * Sends a batch of a campaign in small groups: claim, send, record. A kill leaves at most a group INTERRUPTED; a stop
 * lets the group in hand finish and puts the rest back. Throws when somebody is to be tried again after a pause.
 */
export function sendCampaignBatch(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runExclusively(deps, job.id, async () => {
    const ctx = ctxOf(deps, job)
    const batch = await claimOrRelease(
      () => claimBatch(ctx, job.id, deps.workerId),
      () => interruptAndRelease(deps, ctx, job.id),
    )
    if (!batch) return
    try {
      const end = batch.isCanceled ? await skipRecipients(ctx, batch) : await sendGroups(deps, ctx, batch)
      if (end === 'stopped') return await retryWhileDatabaseDown(() => releaseAndRequeueBatch(ctx, batch))
    } catch (error) {
      await retryWhileDatabaseDown(() => interruptAndRelease(deps, ctx, job.id))
      throw error
    }
    const end = await retryWhileDatabaseDown(() => finishBatch(ctx, batch))
    if (end === 'waiting') throw new Error('Some recipients were refused for now and are tried again')
  })
}

async function interruptAndRelease(deps: WorkerDeps, ctx: Ctx, uuid: string): Promise<void> {
  const interrupted = await interruptAndReleaseBatch(ctx, { uuid, workerId: deps.workerId })
  deps.metrics.countInterrupted({ deliveries: 0, mails: interrupted })
}

/** `stopped` before everyone in the batch had had their turn. */
async function sendGroups(deps: WorkerDeps, ctx: Ctx, batch: ClaimedBatch): Promise<'done' | 'stopped'> {
  const { pace } = deps
  const { render, largestGroup } = await compileCampaign(ctx, batch.campaignId)
  const groupSize = Math.min(pace.groupSize, largestGroup)
  for (let start = 0; start < batch.contactUuids.length; start += groupSize) {
    const group = batch.contactUuids.slice(start, start + groupSize)
    await pace.wait(group.length)
    if (deps.stopping.aborted) return 'stopped'
    const { stopped, recipients } = await claimOrRelease(
      () => claimRecipients(ctx, batch, group),
      () => undoRecipientClaims(ctx, batch, group),
    )
    if (stopped) return 'stopped'
    const answers = await sendGroup(deps, render, recipients)
    const { outcomes, refusal } = outcomesFor(answers)
    await retryWhileDatabaseDown(() => settleRecipients(ctx, batch, outcomes))
    const sent = outcomes.filter(({ status }) => status === 'SENT').length
    const { requestId } = ctx
    deps.log.debug({ requestId, campaignId: batch.campaignId, mails: outcomes.length, sent }, 'a group of mails is out')
    // The rest of the batch would meet the same: a pause first.
    if (refusal?.isFinal === false) throw new Error(`Nobody was sent to, which is tried again: ${refusal.reason}`)
    const reason = refusal?.reason ?? complaintOf(answers, Math.min(largestGroup, fewPeople))
    if (reason !== undefined) await pauseForReason(deps, ctx, { batch, reason })
    if (refusal) return 'stopped'
  }
  return 'done'
}

type Answer = MailOutcome & { recipient: ClaimedRecipient }

/**
 * Makes the mails of a group together, and sends them side by side. Where the template is too slow for all of them, or
 * this worker could not make any, nobody is to blame: everyone waits. At a later try it is only those it was too slow for.
 */
async function sendGroup(
  deps: WorkerDeps,
  render: CampaignRenderer['render'],
  recipients: ClaimedRecipient[],
): Promise<Answer[]> {
  const made = await render(recipients).catch((error: unknown) => {
    deps.log.error({ err: error }, 'the mails of a group could not be made')
    return []
  })
  const areAllSlow = made.every((one, at) => 'fault' in one && one.fault.isSlow && recipients[at]?.attempts === 1)
  const blames = areAllSlow ? { blames: 'server' as const } : {}
  const sending = recipients.map(async (recipient, index): Promise<Answer> => {
    const one = made[index]
    if (one && 'mail' in one) return { ...(await deps.mail.send(one.mail)), recipient }
    const error = one ? `${unmade}: ${one.fault.message}` : unmade
    // Whose mail took too long, and not everybody's, may have met a machine that stood still.
    const isWorthAnotherTry = !one || (one.fault.isSlow === true && !areAllSlow)
    return { kind: 'refused', temporary: isWorthAnotherTry, error, ...blames, recipient }
  })
  return Promise.all(sending)
}

const unmade = 'The mail could not be made'
/** Of fewer it may be chance that nobody's can be made, unless the letter is so long that no group has more. */
const fewPeople = 5

/** What is wrong with the campaign's own template, when it is so for a whole group. */
function complaintOf(answers: Answer[], smallestGroup: number): string | undefined {
  const [first] = answers
  const isUnmade = (one: Answer) => one.kind === 'refused' && one.error.startsWith(unmade)
  return answers.length >= smallestGroup && first?.kind === 'refused' && answers.every(isUnmade)
    ? first.error
    : undefined
}

/** Unless somebody has just paused or canceled it, or everyone has had their turn. */
async function pauseForReason(deps: WorkerDeps, ctx: Ctx, { batch, reason }: { batch: ClaimedBatch; reason: string }) {
  deps.log.warn({ requestId: ctx.requestId, campaignId: batch.campaignId, reason }, 'a campaign was paused')
  await retryWhileDatabaseDown(() => pauseCampaign(ctx, batch.campaignId, reason)).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error
  })
}
