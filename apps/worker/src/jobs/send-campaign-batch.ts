import { setImmediate as nextTurn } from 'node:timers/promises'
import { compileCampaign } from '@rapport/core/campaigns/campaign-mail.ts'
import { pauseCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { outcomesFor } from '@rapport/core/campaigns/outcomes.ts'
import {
  claimBatch,
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  finishBatch,
  handOnBatch,
  putBackBatch,
  settleRecipients,
  skipRecipients,
  undoRecipientClaims,
} from '@rapport/core/campaigns/sending.ts'
import type { Ctx } from '@rapport/core/context.ts'
import { AppError } from '@rapport/core/errors.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import type { WorkJob } from '@rapport/core/queues.ts'
import { claimOrUndo, ctxOf, keepTrying, type Tools, whileInHand } from '../tools.ts'

type Render = (to: ClaimedRecipient) => OutgoingMail

/**
 * Sends a batch of a campaign in small groups: claim, send, record. A kill leaves at most a group INTERRUPTED; a stop
 * lets the group in hand finish and puts the rest back. Throws when somebody is to be tried again after a pause.
 */
export function sendCampaignBatch(tools: Tools, job: WorkJob): Promise<void> {
  return whileInHand(tools, job.id, async () => {
    const ctx = ctxOf(tools, job)
    const batch = await claimOrUndo(
      () => claimBatch(ctx, job.id, tools.workerId),
      async () => void (await putBackBatch(ctx, { uuid: job.id, workerId: tools.workerId })),
    )
    if (!batch) return
    try {
      const end = batch.isCanceled ? await skipRecipients(ctx, batch) : await sendGroups(tools, ctx, batch)
      if (end === 'stopped') return await keepTrying(() => handOnBatch(ctx, batch))
    } catch (error) {
      await keepTrying(() => putBackBatch(ctx, batch))
      throw error
    }
    const end = await keepTrying(() => finishBatch(ctx, batch))
    if (end === 'waiting') throw new Error('Some recipients were refused for now and are tried again')
  })
}

/** `stopped` before everyone in the batch had had their turn. */
async function sendGroups(tools: Tools, ctx: Ctx, batch: ClaimedBatch): Promise<'done' | 'stopped'> {
  const { pace } = tools
  const render = await compileCampaign(ctx, batch.campaignId)
  for (let start = 0; start < batch.contactUuids.length; start += pace.groupSize) {
    const group = batch.contactUuids.slice(start, start + pace.groupSize)
    await pace.wait(group.length)
    if (tools.stopping.aborted) return 'stopped'
    const { stopped, recipients } = await claimOrUndo(
      () => claimRecipients(ctx, batch, group),
      () => undoRecipientClaims(ctx, batch, group),
    )
    if (stopped) return 'stopped'
    const { answers, renderMs } = await sendGroup(tools, render, recipients)
    const { outcomes, refusal } = outcomesFor(answers)
    await keepTrying(() => settleRecipients(ctx, batch, outcomes))
    const sent = outcomes.filter(({ status }) => status === 'SENT').length
    const { requestId } = ctx
    tools.log.debug(
      { requestId, campaignId: batch.campaignId, mails: outcomes.length, sent },
      'a group of mails is out',
    )
    const reason = refusal?.isFinal ? refusal.reason : complaintOf(answers, renderMs)
    if (reason !== undefined) await pauseForReason(tools, ctx, { batch, reason })
    // The rest of the batch would meet the same: a pause first.
    else if (refusal) throw new Error(`The mail server refuses everything, which is tried again: ${refusal.reason}`)
  }
  return 'done'
}

type Answer = MailOutcome & { recipient: ClaimedRecipient }

/** Makes one mail after the other, with a turn for everything else in between, and sends them side by side. */
async function sendGroup(tools: Tools, render: Render, recipients: ClaimedRecipient[]) {
  const sending: Promise<Answer>[] = []
  let renderMs = 0
  for (const recipient of recipients) {
    const startedAt = performance.now()
    sending.push(sendOne(tools, render, recipient).then((outcome) => ({ ...outcome, recipient })))
    renderMs += performance.now() - startedAt
    await nextTurn()
  }
  return { answers: await Promise.all(sending), renderMs }
}

async function sendOne(tools: Tools, render: Render, recipient: ClaimedRecipient): Promise<MailOutcome> {
  let mail: OutgoingMail
  try {
    mail = render(recipient)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'refused', temporary: false, error: `${unmade}: ${reason}` }
  }
  return tools.mail.send(mail)
}

const unmade = 'The mail could not be made'
/** A template that takes longer for each recipient, on the average of a group, holds up everyone else's work. */
const longestRenderMs = 50
const smallestGroup = 5

/** What is wrong with the campaign's own template, when it is so for a whole group. */
function complaintOf(answers: Answer[], renderMs: number): string | undefined {
  if (answers.length < smallestGroup) return undefined
  const [first] = answers
  if (first?.kind === 'refused' && answers.every((one) => one.kind === 'refused' && one.error.startsWith(unmade))) {
    return first.error
  }
  const eachMs = Math.round(renderMs / answers.length)
  return eachMs > longestRenderMs ? `The template takes too long: ${eachMs} ms for each recipient` : undefined
}

/** Unless somebody has just paused or canceled it, or everyone has had their turn. */
async function pauseForReason(tools: Tools, ctx: Ctx, { batch, reason }: { batch: ClaimedBatch; reason: string }) {
  tools.log.warn({ requestId: ctx.requestId, campaignId: batch.campaignId, reason }, 'a campaign was paused')
  await keepTrying(() => pauseCampaign(ctx, batch.campaignId, reason)).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error
  })
}
