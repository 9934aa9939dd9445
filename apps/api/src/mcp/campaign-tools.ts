import { previewCampaign } from '@rapport/core/campaigns/campaign-mail.ts'
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import {
  createCampaign,
  listCampaigns,
  readCampaign,
  readCampaignSummary,
  updateCampaign,
} from '@rapport/core/campaigns/campaigns.ts'
import {
  Campaign,
  CampaignChange,
  CampaignInput,
  CampaignQuery,
  CampaignRecipient,
  CampaignSummary,
  Preview,
  PreviewInput,
  RecipientQuery,
} from '@rapport/core/campaigns/campaigns.schema.ts'
import { CampaignStats } from '@rapport/core/campaigns/campaign-stats.schema.ts'
import { cancelCampaign, pauseCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { listTemplateVariables } from '@rapport/core/rendering/list-template-variables.ts'
import { TemplateVariables } from '@rapport/core/rendering/template-variables.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, parseInput, reads } from './tool.ts'

const { status, listId, search } = CampaignQuery.shape
const campaigns = defineTool({
  name: 'list_campaigns',
  operations: ['campaigns.list'],
  title: 'List campaigns',
  description:
    'Returns the campaigns that match all filters, newest first, without their bodies. `preview_campaign`, which requires the role MEMBER, returns the bodies.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ status, listId, search, ...pageInput }),
  output: PageOf(CampaignSummary),
  run: (ctx, input) => listCampaigns(ctx, { ...input, ...newestFirst }),
})

const templateVariables = defineTool({
  name: 'list_template_variables',
  operations: ['templateVariables.list'],
  title: 'List template variables',
  description: 'Returns every variable and filter that the templates of a campaign may use, custom fields among them.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({}),
  output: TemplateVariables,
  run: (ctx) => listTemplateVariables(ctx),
})

const draftCampaignDescription =
  'Creates a campaign as a draft, or changes a draft. Sends nothing. `subject`, `html` and `text` are Liquid ' +
  'templates, such as `Hello {{ contact.firstName | default: "friend" }}`; `list_template_variables` has the ' +
  'variables. An error in a template returns issues with line and column. Not idempotent: a repeated call without ' +
  '`campaignId` creates another draft.'

const draftCampaign = defineTool({
  name: 'draft_campaign',
  operations: ['campaigns.create', 'campaigns.update'],
  title: 'Write a draft of a campaign',
  description: draftCampaignDescription,
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    campaignId: Id('cmp').optional().describe('The draft to change. Omit it to create a draft.'),
    ...CampaignChange.shape,
    name: CampaignChange.shape.name.describe(`${CampaignInput.shape.name.description} Required for a new draft.`),
    subject: CampaignChange.shape.subject.describe('The subject line, a Liquid template. Required for a new draft.'),
    listId: CampaignChange.shape.listId.describe('The list that receives the campaign. Required for a new draft.'),
  }),
  output: z.object({ campaign: CampaignSummary }),
  async run(ctx, { campaignId, ...content }) {
    const {
      html: _,
      text: __,
      ...campaign
    } = campaignId
      ? await updateCampaign(ctx, campaignId, content)
      : await createCampaign(ctx, parseInput(CampaignInput, content))
    return { campaign }
  },
})

const { subject, html, text } = Campaign.shape
const preview = defineTool({
  name: 'preview_campaign',
  operations: ['campaigns.get', 'campaigns.preview'],
  title: 'Preview a campaign',
  description:
    'Returns the templates of a campaign, and how they are rendered for a contact or for an example contact. Sends nothing.',
  role: 'MEMBER',
  annotations: reads,
  input: z.strictObject({ campaignId: Id('cmp'), contactId: PreviewInput.out.shape.contactId }),
  output: z.object({
    templates: z.object({ subject, html, text }).describe('The templates.'),
    preview: Preview,
  }),
  async run(ctx, { campaignId, contactId }) {
    const campaign = await readCampaign(ctx, campaignId)
    const templates = { subject: campaign.subject, html: campaign.html, text: campaign.text }
    return { templates, preview: await previewCampaign(ctx, campaignId, { contactId }) }
  },
})

const report = defineTool({
  name: 'campaign_report',
  operations: ['campaigns.get', 'campaigns.getStats', 'campaigns.listRecipients'],
  title: 'Report on a campaign',
  description:
    'Returns the statistics of a campaign, and a page of the recipients whose email failed, with the reason. `status` selects other recipients.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({
    campaignId: Id('cmp'),
    status: RecipientQuery.shape.status.unwrap().default('FAILED').describe('Which recipients to return.'),
    ...pageInput,
  }),
  output: z.object({
    campaign: CampaignSummary,
    stats: CampaignStats,
    recipients: PageOf(CampaignRecipient).describe('A page of the recipients with the status.'),
  }),
  async run(ctx, { campaignId, ...query }) {
    const campaign = await readCampaignSummary(ctx, campaignId)
    const stats = await readStats(ctx, campaignId)
    return { campaign, stats, recipients: await listRecipients(ctx, campaignId, { ...query, ...newestFirst }) }
  },
})

const ends = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }

const pause = defineTool({
  name: 'pause_campaign',
  operations: ['campaigns.pause'],
  title: 'Pause a campaign',
  description:
    'Stops a campaign that is being sent. The recipients who have no email yet keep waiting for a person to resume it. Idempotent.',
  role: 'MEMBER',
  annotations: ends,
  input: z.strictObject({ campaignId: Id('cmp') }),
  output: z.object({ campaign: CampaignSummary }),
  run: async (ctx, { campaignId }) => ({ campaign: await pauseCampaign(ctx, campaignId) }),
})

const cancel = defineTool({
  name: 'cancel_campaign',
  operations: ['campaigns.cancel'],
  title: 'Cancel a campaign',
  description:
    'Stops a campaign that is being sent or is paused, for good: the recipients who have no email yet get none. Idempotent.',
  role: 'MEMBER',
  annotations: ends,
  input: z.strictObject({ campaignId: Id('cmp') }),
  output: z.object({ campaign: CampaignSummary }),
  run: async (ctx, { campaignId }) => ({ campaign: await cancelCampaign(ctx, campaignId) }),
})

export const campaignTools = [campaigns, templateVariables, draftCampaign, preview, report, pause, cancel]
