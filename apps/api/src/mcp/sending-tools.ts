import { isMember } from '@rapport/core/auth/users.ts'
import { sendTestMail } from '@rapport/core/campaigns/campaign-mail.ts'
import { Sending, SendResult, SendTestInput } from '@rapport/core/campaigns/campaigns.schema.ts'
import { reportSending, sendReviewedCampaign } from '@rapport/core/campaigns/sending-report/report-sending.ts'
import { SendingReport } from '@rapport/core/campaigns/sending-report/sending-report.schema.ts'
import { AppError, invalidField } from '@rapport/core/kernel/errors.ts'
import { type CampaignId, Id } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { z } from 'zod'
import { defineTool, ToolError } from './tool.ts'

const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true }

const sendTest = defineTool({
  name: 'send_test',
  operations: ['campaigns.sendTest'],
  title: 'Send a test email',
  description:
    'Sends one email with `[Test]` in its subject to a member of the workspace. Any other address is an error. Not idempotent: a repeated call sends another email.',
  role: 'MEMBER',
  annotations,
  input: z.strictObject({
    campaignId: Id('cmp'),
    ...SendTestInput.shape,
    email: SendTestInput.shape.email.describe('The address of the member who receives the test email.'),
  }),
  output: SendResult,
  async run(ctx, { campaignId, ...input }) {
    // Instructions in the data of visitors may make an agent send what it has read to an address of theirs.
    if (!(await isMember(ctx, input.email)))
      throw invalidField('email', 'email: must be the address of a member of this workspace')
    return sendTestMail(ctx, campaignId, input)
  },
})

/** An agent looks for the token beside the report, where the next call takes it. */
async function reportWithToken(ctx: Ctx, campaignId: CampaignId) {
  const report = await reportSending(ctx, campaignId)
  return { confirmationToken: report.confirmationToken, report }
}

const sendCampaignDescription =
  'Sends a campaign to the confirmed subscribers of its list, in two calls. The first call, without ' +
  '`confirmationToken`, sends nothing: it returns a `confirmationToken`, and a report with the recipients, the ' +
  'subject, the list and the sender. Show the report to the user and ask for consent. The second call, with the ' +
  '`confirmationToken` of the first, sends the campaign. It fails and returns a new token and report if the ' +
  'campaign or the number of its recipients has changed, or after ten minutes. Sending cannot be undone. A campaign ' +
  'is sent only once.'

const sendCampaign = defineTool({
  name: 'send_campaign',
  operations: ['campaigns.getAudience', 'campaigns.send'],
  title: 'Send a campaign',
  description: sendCampaignDescription,
  role: 'MEMBER',
  annotations: { ...annotations, destructiveHint: true },
  input: z.strictObject({
    campaignId: Id('cmp'),
    confirmationToken: z
      .string()
      .max(600)
      .optional()
      .describe('The token of the first call, whose report the user has agreed to. Omit it to get a report.'),
  }),
  output: z.object({
    status: z
      .enum(['CONFIRMATION_REQUIRED', 'SENDING'])
      .describe('`CONFIRMATION_REQUIRED`: nothing was sent. `SENDING`: the emails are sent in the background.'),
    confirmationToken: SendingReport.shape.confirmationToken
      .optional()
      .describe('For the second call. `null` if there are no recipients.'),
    report: SendingReport.optional().describe('What sending would do, if nothing was sent.'),
    queued: SendResult.shape.queued.optional(),
    unseen: Sending.shape.unseen.optional(),
  }),
  async run(ctx, { campaignId, confirmationToken }) {
    if (confirmationToken === undefined)
      return { status: 'CONFIRMATION_REQUIRED' as const, ...(await reportWithToken(ctx, campaignId)) }
    const result = await sendReviewedCampaign(ctx, campaignId, { confirmationToken }).catch(async (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== 'precondition_failed') throw error
      throw new ToolError(error, await reportWithToken(ctx, campaignId))
    })
    return { status: 'SENDING' as const, ...result }
  },
})

export const sendingTools = [sendTest, sendCampaign]
