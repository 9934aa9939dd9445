import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestContact, createTestCtx, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { hashEmail } from '../../consent/hash-email.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { softBounces } from '../../db/schema/index.ts'
import { type CampaignId, type ContactId, uuidOf } from '../../kernel/ids.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'
import { createRecipientToken } from '../../mail/bounces/recipient-token.ts'
import type { Ctx } from '../../request/context.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { reportMailEvent, reportMailEvents } from './mail-events.ts'
import type { MailReport } from './mail-report.ts'

const database = useTestDatabase()
const emails = [
  ...Array.from({ length: 9 }, (_, at) => `person-${at + 1}@example.com`),
  'moved@example.com',
  'other@example.com',
  'unknown@example.com',
]

interface Sent {
  ctx: Ctx
  campaignId: CampaignId
  idOf: (number: number) => ContactId
}

/** A campaign to nine people. The second has moved since, the third is deleted, the fourth has two SOFT bounces. */
async function send(): Promise<Sent> {
  const ctx = await createTestCtx(database.db)
  const { id, batches } = await startTestCampaign(ctx, 9)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch, { providerPrefix: 'pm' })
  const idOf = (number: number) =>
    recipients.find(({ email }) => email === `person-${number}@example.com`)?.id as ContactId
  await createTestContact(ctx, { email: 'other@example.com' })
  await updateContact(ctx, idOf(2), { email: 'moved@example.com' })
  await deleteContact(ctx, idOf(3))
  const emailHash = hashEmail(ctx, 'person-4@example.com')
  const days = [3, 8].map((day) => timestampAt(Date.now() - day * 86_400_000))
  await ctx.db
    .insert(softBounces)
    .values(days.map((mailedAt) => ({ workspaceId: ctx.workspaceId, emailHash, mailedAt })))
  return { ctx, campaignId: id, idOf }
}

type Facts = Pick<MailReport, 'type' | 'class' | 'code'>
const hard: Facts = { type: 'BOUNCE', class: 'HARD', code: '5.1.1' }
const soft: Facts = { type: 'BOUNCE', class: 'SOFT', code: '4.2.2' }
const policy: Facts = { type: 'BOUNCE', class: 'POLICY', code: '5.7.1' }
const complaint: Facts = { type: 'COMPLAINT', class: null, code: null }
const optOut: Facts = { type: 'OPT_OUT', class: null, code: null }

/** Reports of every kind, by every way. */
function composeReports({ ctx, campaignId, idOf }: Sent): MailReport[] {
  const base = { recipientToken: null, messageId: null, providerMessageId: null, detail: 'words' }
  const byProvider = (number: number, facts: Facts): MailReport => ({
    ...base,
    ...facts,
    email: `person-${number}@example.com`,
    providerMessageId: `pm-person-${number}`,
  })
  const byToken = (number: number, facts: Facts): MailReport => {
    const email = `person-${number}@example.com`
    const subject = { campaignId, contactId: idOf(number) }
    const recipientToken = createRecipientToken(ctx.settings.keys, { workspaceId: ctx.workspaceId, subject, email })
    return { ...base, ...facts, email: null, recipientToken }
  }
  const byMessageId = (number: number, facts: Facts): MailReport => ({
    ...byProvider(number, facts),
    providerMessageId: null,
    messageId: `<${campaignId}.${idOf(number)}@example.com>`,
  })
  return [
    byProvider(1, soft),
    byToken(1, hard),
    byMessageId(1, soft),
    byProvider(2, complaint),
    byToken(2, hard),
    byProvider(3, optOut),
    byToken(3, hard),
    byProvider(4, soft),
    byToken(5, policy),
    byProvider(5, policy),
    byMessageId(6, complaint),
    byProvider(6, complaint),
    { ...byProvider(7, hard), email: 'other@example.com' },
    byMessageId(8, optOut),
    byToken(8, { ...hard, code: '5.1.10' }),
    { ...base, ...hard, email: 'unknown@example.com' },
    { ...base, ...complaint, email: 'other@example.com' },
    { ...base, ...soft, email: 'other@example.com' },
    { ...byToken(9, hard), recipientToken: 'forged' },
  ]
}

/** What is recorded, without ids and times. */
async function readRecorded({ ctx, campaignId }: Sent) {
  const select = async (text: string) =>
    (await database.pool.query<Record<string, unknown>>(text, [uuidOf(ctx.workspaceId)])).rows
  const suppressed = await Promise.all(
    emails.map(async (email) => [
      email,
      (await readSuppressions(ctx, { email })).map(({ reason }) => reason).toSorted(),
    ]),
  )
  return {
    suppressed,
    stats: await readStats(ctx, campaignId),
    contacts: await select(
      'select email, email_subscribed_status from contacts where workspace_id = $1 order by email collate "C"',
    ),
    recipients: await select(
      `select c.email, r.bounce_class, r.bounce_code, r.complained_at is not null as complained,
          r.unsubscribed_at is not null as unsubscribed, r.bounced_at is not null as bounced
        from campaign_recipients r left join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
        where r.workspace_id = $1 order by c.email collate "C"`,
    ),
    subscriptions: await select(
      `select c.email, s.status, s.unsubscribed_at is not null as unsubscribed
        from subscriptions s join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id
        where s.workspace_id = $1 order by c.email collate "C"`,
    ),
    // A subscription that ends twice in one transaction emits one event.
    ended: await select(
      `select distinct data->>'contactId' is null as is_unknown from events
        where workspace_id = $1 and type = 'subscription.unsubscribed'`,
    ),
    events: await select(
      `select type, data->>'email' as email, data->>'class' as class, data->>'contactId' is null as is_unknown,
          count(*)::int as count
        from events where workspace_id = $1 and type like 'mail.%' group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    ),
  }
}

test.each(['in one order', 'in the other'])(
  'reports that come together count as one after the other, %s',
  async (order) => {
    const [together, apart] = [await send(), await send()]
    const inOrder = (of: Sent) => (order === 'in the other' ? composeReports(of).toReversed() : composeReports(of))
    await reportMailEvents(together.ctx, inOrder(together))
    for (const report of inOrder(apart)) await reportMailEvent(apart.ctx, report)
    const recorded = await readRecorded(together)
    expect(recorded).toEqual(await readRecorded(apart))
    expect(recorded.stats).toMatchObject({ bounced: 5, complained: 2, unsubscribed: 2 })
    expect(recorded.suppressed).toContainEqual(['person-4@example.com', ['BOUNCED']])
    await reportMailEvents(together.ctx, inOrder(together))
    expect(await readRecorded(together)).toEqual(recorded)
  },
)
