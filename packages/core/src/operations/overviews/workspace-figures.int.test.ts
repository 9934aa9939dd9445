import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { expireHeartbeats } from '../../work/worker-registry.ts'
import { suspendWorkspace } from '../../workspaces/suspension.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { mergeContacts } from '../contacts/merge-contacts.ts'
import { MailEventInput } from '../mail/mail-events.schema.ts'
import { reportMailEvent } from '../mail/mail-events.ts'
import { toMailReport } from '../mail/mail-report.ts'
import { interruptRestoredWork } from '../recovery/restored-backup.ts'
import { listWorkspaceFigures, sortFigures, type WorkspaceFigures } from './workspace-figures.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

async function readFigures(of: Ctx = ctx): Promise<WorkspaceFigures> {
  const figures = (await listWorkspaceFigures(database.db)).find(({ id }) => id === of.workspaceId)
  if (!figures) throw new Error('The workspace is not listed')
  return figures
}

/** A campaign that was sent, with these counters. */
async function createSent(of: Ctx, counts: { sent: number; bounced?: number; complained?: number }) {
  const { id } = await createTestCampaign(of)
  const { sent, bounced = 0, complained = 0 } = counts
  await database.db.execute(sql`update campaigns set status = 'SENT', sent_at = now() where id = ${uuidOf(id)}`)
  await database.db.execute(sql`
    insert into campaign_batches (workspace_id, id, campaign_id, contact_ids, status, sent, bounced, complained)
    values (${uuidOf(of.workspaceId)}::uuid, uuidv7(), ${uuidOf(id)}::uuid, '{}', 'DONE', ${sent}::int, ${bounced}::int,
      ${complained}::int)`)
  return id
}

test('a new workspace has zeros, and no rate', async () => {
  expect(await readFigures()).toEqual({
    id: ctx.workspaceId,
    name: expect.any(String),
    suspendedAt: null,
    createdAt: expect.any(String),
    contacts: 0,
    mails: 0,
    hardBounceRate: null,
    complaintRate: null,
    worstHardBounceRate: null,
    worstHardBounceCampaignId: null,
    worstComplaintRate: null,
    worstComplaintCampaignId: null,
    failingWebhooks: 0,
    pendingWork: 0,
    lastSentAt: null,
  })
})

/** A report about a recipient of the campaign. */
async function report(campaign: string, type: 'BOUNCE' | 'COMPLAINT', of: { id: string; email: string }) {
  const messageId = `<${campaign}.${of.id}@example.com>`
  await reportMailEvent(ctx, toMailReport(MailEventInput.parse({ type, email: of.email, permanent: true, messageId })))
}

test('rates stay right when people are merged or erased, and in a restored backup', async () => {
  const { id, batches } = await startTestCampaign(ctx, 4)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  const [first, second, third, last] = recipients
  if (!first || !second || !third || !last) throw new Error('no recipients')
  await report(id, 'BOUNCE', first)
  await report(id, 'COMPLAINT', second)
  const rates = { mails: 4, hardBounceRate: 0.25, complaintRate: 0.25 }
  expect(await readFigures()).toMatchObject({ ...rates, contacts: 4 })
  await deleteContact(ctx, first.id)
  expect(await readFigures()).toMatchObject({ ...rates, contacts: 3 })
  await mergeContacts(ctx, third.id, { contactId: second.id })
  expect(await readFigures()).toMatchObject({ ...rates, contacts: 2 })
  await expireHeartbeats(database.db)
  await interruptRestoredWork(database.db, undefined)
  expect(await readFigures()).toMatchObject({ ...rates, contacts: 2 })
})

test('bounces and complaints of deleted contacts count, and emit no event', async () => {
  const { id, batches } = await startTestCampaign(ctx, 4)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  const [first, second] = recipients
  if (!first || !second) throw new Error('no recipients')
  for (const one of [first, second]) await deleteContact(ctx, one.id)
  const before = await listEventTypes(ctx)
  await report(id, 'BOUNCE', first)
  await report(id, 'COMPLAINT', second)
  expect(await readFigures()).toMatchObject({ mails: 4, hardBounceRate: 0.25, complaintRate: 0.25, contacts: 2 })
  expect(await listEventTypes(ctx)).toEqual(before)
})

test('the worst campaign of 30 days has 500 emails or more, of complaints ten', async () => {
  await createSent(ctx, { sent: 499, bounced: 499, complained: 499 })
  const bounced = await createSent(ctx, { sent: 500, bounced: 50 })
  await createSent(ctx, { sent: 600, complained: 9 })
  const reported = await createSent(ctx, { sent: 1_000, bounced: 10, complained: 10 })
  expect(await readFigures()).toMatchObject({
    mails: 2_599,
    worstHardBounceRate: 0.1,
    worstHardBounceCampaignId: bounced,
    worstComplaintRate: 0.01,
    worstComplaintCampaignId: reported,
  })
  await database.db.execute(sql`update campaigns set status = 'SENDING', updated_at = now() - interval '31 days'`)
  expect(await readFigures()).toMatchObject({ mails: 2_599, worstHardBounceRate: 0.1 })
  await database.db.execute(sql`update campaigns set completed_at = now() - interval '31 days', status = 'SENT'`)
  const { lastSentAt, ...figures } = await readFigures()
  expect(figures).toMatchObject({ mails: 0, hardBounceRate: null, worstHardBounceRate: null })
  expect(lastSentAt).not.toBeNull()
})

test('counts emails to one person, failing webhooks and waiting work of each workspace', async () => {
  const other = await createTestCtx(database.db)
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id)
  await createTestEmail(ctx, template.id)
  await database.db.execute(sql`
    update emails set status = 'SENT', bounce_class = 'HARD', ended_at = now() where id = ${uuidOf(id)}`)
  const webhook = await createTestWebhook(ctx)
  await database.db.execute(sql`
    insert into webhook_health (workspace_id, webhook_id, failure_count, failing_since, last_failure_at)
    values (${uuidOf(ctx.workspaceId)}::uuid, ${uuidOf(webhook.id)}::uuid, 5, now() - interval '2 hours', now())
    on conflict (workspace_id, webhook_id) do update set failure_count = excluded.failure_count,
      failing_since = excluded.failing_since, last_failure_at = excluded.last_failure_at`)
  await createTestContact(ctx)
  const figures = await readFigures()
  expect(figures).toMatchObject({ mails: 1, hardBounceRate: 1, failingWebhooks: 1 })
  expect(figures.pendingWork).toBeGreaterThanOrEqual(2)
  expect(figures.lastSentAt).not.toBeNull()
  const none = { mails: 0, failingWebhooks: 0, pendingWork: 0, contacts: 0, lastSentAt: null }
  expect(await readFigures(other)).toMatchObject(none)
  await database.db.execute(sql`update emails set created_at = now() - interval '31 days'`)
  expect(await readFigures()).toMatchObject({ mails: 0, hardBounceRate: null, lastSentAt: null })
})

test('sorts by any figure, the highest first, and those without a value last', async () => {
  const [low, none, high] = [ctx, await createTestCtx(database.db), await createTestCtx(database.db)]
  await createSent(low, { sent: 1_000, bounced: 1 })
  await createSent(high, { sent: 1_000, bounced: 100 })
  await suspendWorkspace(high)
  const figures = (await listWorkspaceFigures(database.db)).filter(({ id }) =>
    [low, none, high].some(({ workspaceId }) => workspaceId === id),
  )
  const idsBy = (by: Parameters<typeof sortFigures>[1]) => sortFigures(figures, by).map(({ id }) => id)
  const worstFirst = [high, low, none].map(({ workspaceId }) => workspaceId)
  expect(idsBy('hardBounceRate')).toEqual(worstFirst)
  expect(idsBy('worstHardBounceRate')).toEqual(worstFirst)
  expect(idsBy('lastSentAt').at(-1)).toBe(none.workspaceId)
  expect(idsBy('createdAt')).toEqual([low, none, high].map(({ workspaceId }) => workspaceId))
})
