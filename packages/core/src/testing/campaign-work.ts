/** What a worker does with a campaign, step by step, for tests that stop in between. */
import { sendCampaign } from '../campaigns/campaigns.ts'
import type { Campaign } from '../campaigns/campaigns.schema.ts'
import type { RecipientOutcome } from '../campaigns/outcomes.ts'
import {
  claimBatch,
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  settleRecipients,
} from '../campaigns/sending.ts'
import type { Ctx } from '../context.ts'
import { createTestCampaign, waitingWork } from './factories.ts'

/** A campaign that is SENDING to so many subscribers of a new list. Answers the UUIDs of its batches too. */
export async function startTestCampaign(ctx: Ctx, confirmed: number): Promise<Campaign & { batches: string[] }> {
  const campaign = await createTestCampaign(ctx, { confirmed })
  await sendCampaign(ctx, campaign.id)
  return { ...campaign, batches: await waitingWork(ctx, 'campaigns') }
}

/** Takes a batch in hand that is to be had. */
export async function claimTestBatch(ctx: Ctx, uuid: string | undefined, workerId: string): Promise<ClaimedBatch> {
  const batch = await claimBatch(ctx, uuid ?? '', workerId)
  if (!batch) throw new Error('The batch could not be claimed')
  return batch
}

/** Sends to some of the batch, to all unless told otherwise, with one outcome for all. */
export async function sendTestBatch(
  ctx: Ctx,
  batch: ClaimedBatch,
  given: { from?: number; to?: number; status?: RecipientOutcome['status'] } = {},
): Promise<{ stopped: boolean; recipients: ClaimedRecipient[] }> {
  const { from = 0, to = batch.contactUuids.length, status = 'SENT' } = given
  const { stopped, recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(from, to))
  const outcomes = recipients.map(({ id }) => ({ contactId: id, status, error: status === 'SENT' ? null : 'words' }))
  await settleRecipients(ctx, batch, outcomes)
  return { stopped, recipients }
}
