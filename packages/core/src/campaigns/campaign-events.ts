import { defineEvent } from '../events/event-definition.ts'
import { CampaignSummary } from './campaigns.schema.ts'

const sending = {
  status: 'SENDING',
  queued: 1207,
  updatedAt: '2026-11-24T08:00:00.214Z',
  sentAt: '2026-11-24T08:00:00.214Z',
}

export const campaignSending = defineEvent('campaign.sending', CampaignSummary, sending)
export const campaignSent = defineEvent('campaign.sent', CampaignSummary, {
  ...sending,
  status: 'SENT',
  updatedAt: '2026-11-24T08:04:37.090Z',
  completedAt: '2026-11-24T08:04:37.090Z',
})
export const campaignCanceled = defineEvent('campaign.canceled', CampaignSummary, {
  ...sending,
  status: 'CANCELED',
  updatedAt: '2026-11-24T08:01:12.655Z',
})
