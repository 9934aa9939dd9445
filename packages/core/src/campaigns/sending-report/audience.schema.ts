import { z } from 'zod'

const count = z.number().int()

export const Audience = z
  .object({
    willReceive: count.describe('The number of confirmed subscribers, within the segment if the campaign has one.'),
    excluded: z
      .object({
        pending: count.describe('Subscribers who have not confirmed.'),
        unsubscribed: count.describe('Subscribers who have unsubscribed.'),
        bounced: count.describe('Subscribers whose address bounced.'),
        complained: count.describe('Subscribers who reported an email as spam.'),
        outsideSegment: count.describe('Confirmed subscribers who do not match the segment of the campaign.'),
      })
      .describe('The number of subscribers who would not receive it, by reason.'),
    unseen: count.describe(
      'How many of `outsideSegment` the segment leaves out because it cannot see whether they opened or clicked: their emails were not tracked as those of a person.',
    ),
  })
  .meta({
    id: 'CampaignAudience',
    description:
      'The number of subscribers that would receive the campaign now, and of those that would not, by reason.',
    examples: [
      {
        willReceive: 1207,
        excluded: { pending: 12, unsubscribed: 48, bounced: 5, complained: 1, outsideSegment: 0 },
        unseen: 0,
      },
    ],
  })
export type Audience = z.output<typeof Audience>
