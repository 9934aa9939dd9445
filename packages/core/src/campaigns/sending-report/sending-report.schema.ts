import { z } from 'zod'
import { RecordId } from '../../kernel/ids.ts'
import { Timestamp } from '../../kernel/values/timestamps.ts'
import { Audience } from './audience.schema.ts'

export const SendingReport = z
  .object({
    campaignId: RecordId('cmp'),
    name: z.string().describe('The name of the campaign.'),
    subject: z.string().describe('The subject line, a Liquid template.'),
    list: z
      .object({ id: RecordId('lst'), name: z.string().describe('The name of the list.') })
      .describe('The list that receives the campaign.'),
    segment: z
      .object({ id: RecordId('seg'), name: z.string().describe('The name of the segment.') })
      .nullable()
      .describe('The segment that narrows the list. `null` for the whole list.'),
    from: z
      .object({ name: z.string().describe('The sender name.'), address: z.string().describe('The sender address.') })
      .describe('The sender of the emails.'),
    replyTo: z.string().nullable().describe('The address for replies. `null` for the sender address.'),
    willReceive: Audience.shape.willReceive,
    excluded: Audience.shape.excluded,
    unseen: Audience.shape.unseen,
    confirmationToken: z
      .string()
      .nullable()
      .describe('Sends exactly what this report describes. `null` if there are no recipients.'),
    expiresAt: Timestamp.describe('When the token expires.'),
  })
  .meta({ id: 'SendingReport', description: 'What sending a campaign would do now.' })
export type SendingReport = z.output<typeof SendingReport>
