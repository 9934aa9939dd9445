import { z } from 'zod'

const count = z.number().int()

export const CampaignStats = z
  .object({
    queued: count.describe('Recipients in total.'),
    sent: count.describe('Recipients whose email was accepted by the mail server.'),
    failed: count.describe('Recipients whose email was rejected or could not be rendered.'),
    skipped: count.describe(
      'Recipients who left the list, or were merged into another contact, before their email was sent, or whose campaign was canceled.',
    ),
    interrupted: count.describe(
      'Recipients whose outcome is unknown, because the worker crashed or lost its connection.',
    ),
    pending: count.describe('Recipients who are still waiting.'),
    opened: count.describe('Recipients who opened the email, each counted once, if they are tracked as a person.'),
    clicked: count.describe('Recipients who clicked a link, each counted once, if they are tracked as a person.'),
    anonymousOpens: count.describe(
      'How often the email was opened by recipients who are not known: each time counts, also of the same recipient.',
    ),
    anonymousClicks: count.describe('How often recipients who are not known clicked a link.'),
    unsubscribed: count.describe(
      'Recipients who unsubscribed by a link of this campaign, also on the preferences page.',
    ),
    bounced: count.describe('Recipients whose address does not exist: `bouncesByClass.HARD`.'),
    complained: count.describe('Recipients who reported the email as spam.'),
    bouncesByClass: z
      .object({
        HARD: count.describe('The address does not exist.'),
        SOFT: count.describe('A problem that may pass.'),
        MESSAGE: count.describe('The email was refused for its size or content.'),
        POLICY: count.describe('The sender was refused.'),
      })
      .describe('Recipients by the class of their bounce, refusals while sending included.'),
    links: z
      .array(
        z.object({
          url: z.string().describe('The address of the link.'),
          clicks: count.describe('How often recipients who are tracked as a person clicked it: each time counts.'),
          anonymousClicks: count.describe('How often recipients who are not known clicked it.'),
        }),
      )
      .describe(
        'The first 100 links of the HTML, in its order; none without `trackClicks`. A link with a variable is not listed: it may be of one person only.',
      ),
  })
  .meta({
    id: 'CampaignStats',
    description:
      'The number of recipients by status. At any time, queued = sent + failed + skipped + interrupted + pending.',
    examples: [
      {
        queued: 1207,
        sent: 1190,
        failed: 9,
        skipped: 3,
        interrupted: 0,
        pending: 5,
        opened: 610,
        clicked: 122,
        anonymousOpens: 301,
        anonymousClicks: 48,
        unsubscribed: 4,
        bounced: 7,
        complained: 1,
        bouncesByClass: { HARD: 7, SOFT: 2, MESSAGE: 0, POLICY: 0 },
        links: [{ url: 'https://example.com/new', clicks: 96, anonymousClicks: 41 }],
      },
    ],
  })
export type CampaignStats = z.output<typeof CampaignStats>
