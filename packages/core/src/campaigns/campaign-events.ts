import { defineEvent } from '../events/event-definition.ts'
import { Campaign } from './campaigns.schema.ts'

export const campaignSending = defineEvent('campaign.sending', Campaign)
export const campaignSent = defineEvent('campaign.sent', Campaign)
export const campaignCanceled = defineEvent('campaign.canceled', Campaign)
