import { compileCampaign } from '@rapport/core/campaigns/campaign-mail.ts'
import {
  claimBatch,
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  finishBatch,
  handOnBatch,
  outcomeFor,
  putBackBatch,
  type RecipientOutcome,
  settleRecipients,
  undoRecipientClaims,
} from '@rapport/core/campaigns/sending.ts'
import type { Ctx } from '@rapport/core/context.ts'
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
      const wasStopped = await sendGroups(tools, ctx, batch)
      if (wasStopped) return await keepTrying(() => handOnBatch(ctx, batch))
    } catch (error) {
      await keepTrying(() => putBackBatch(ctx, batch))
      throw error
    }
    const end = await keepTrying(() => finishBatch(ctx, batch))
    if (end === 'waiting') throw new Error('Some recipients were refused for now and are tried again')
  })
}

/** Whether it was stopped before everyone in the batch had had their turn. */
async function sendGroups(tools: Tools, ctx: Ctx, batch: ClaimedBatch): Promise<boolean> {
  const { pace } = tools
  const render = await compileCampaign(ctx, batch.campaignId)
  for (let start = 0; start < batch.contactUuids.length; start += pace.groupSize) {
    const group = batch.contactUuids.slice(start, start + pace.groupSize)
    await pace.wait(group.length)
    if (tools.stopping.aborted) return true
    const { stopped, recipients } = await claimOrUndo(
      () => claimRecipients(ctx, batch, group),
      () => undoRecipientClaims(ctx, batch, group),
    )
    if (stopped) return true
    const outcomes = await Promise.all(recipients.map((recipient) => sendOne(tools, render, recipient)))
    await keepTrying(() => settleRecipients(ctx, batch, outcomes))
  }
  return false
}

async function sendOne(tools: Tools, render: Render, recipient: ClaimedRecipient): Promise<RecipientOutcome> {
  try {
    return outcomeFor(recipient, await tools.mail.send(render(recipient)))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { contactId: recipient.id, status: 'FAILED', error: `The mail could not be made: ${reason}` }
  }
}
