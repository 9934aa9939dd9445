import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { byStrictness } from '../../consent/suppression-rows.ts'
import type { Ctx } from '../../request/context.ts'
import { type ContactId, type ListId, newId, uuidOf } from '../../kernel/ids.ts'
import { unsubscribeUrl } from '../../lists/subscription-links.ts'
import { confirmSubscribers } from '@rapport/testing/consent/confirm-subscribers.ts'
import { subscribe } from '../../lists/subscribe.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWorker,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { purgeMailReports } from './known-reports.ts'
import { unsubscribe } from '../contacts/unsubscribe.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { deleteContact } from '../contacts/delete-contact.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const report = (fields: Record<string, unknown>) =>
  reportByClient(ctx, { type: 'BOUNCE', email: 'person-1@example.com', permanent: true, ...fields })

async function statusesOf(contactId: ContactId) {
  const found = await database.db.execute<{ status: string }>(sql`
    select status from subscriptions where contact_id = ${uuidOf(contactId)} order by created_at, list_id`)
  return found.rows.map((row) => row.status)
}

/** Sends a campaign to person-1 and person-2. */
async function sendTestCampaign() {
  const { id, listId, batches } = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  const [ada] = recipients.filter(({ email }) => email === 'person-1@example.com')
  if (!ada) throw new Error('There is no person-1')
  return { id, listId: listId ?? newId('lst'), ada, messageId: `<${id}.${ada.id}@example.com>` }
}

describe.each([
  { type: 'BOUNCE', status: 'BOUNCED', event: 'mail.bounced', count: 'bounced' },
  { type: 'COMPLAINT', status: 'COMPLAINED', event: 'mail.complained', count: 'complained' },
])('a $type', ({ type, status, event, count }) => {
  test('unsubscribes the address, counts once and emits one event', async () => {
    const { id, ada, messageId } = await sendTestCampaign()
    const other = await createTestList(ctx)
    await confirmSubscribers(ctx, { listId: other.id, contacts: [ada] })
    for (let time = 0; time < 3; time++) await report({ type, messageId, detail: `words ${time}` })
    await Promise.all(Array.from({ length: 5 }, () => report({ type, messageId })))
    expect(await statusesOf(ada.id)).toEqual([status, status])
    expect(await readContact(ctx, ada.id)).toMatchObject({ emailSubscribedStatus: status })
    expect(await readStats(ctx, id)).toMatchObject({ sent: 2, [count]: 1 })
    const ended = (await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed')
    expect(ended).toHaveLength(2)
    const emitted = await database.db.execute(sql`
      select data from events where type = ${event} and workspace_id = ${uuidOf(ctx.workspaceId)}`)
    expect(emitted.rows).toEqual([
      {
        data: {
          email: 'person-1@example.com',
          permanent: true,
          class: type === 'BOUNCE' ? 'HARD' : null,
          code: null,
          detail: 'words 0',
          messageId,
          contactId: ada.id,
          campaignId: id,
          emailId: null,
          reportedAt: expect.any(String),
        },
      },
    ])
  })

  test('is not undone by an import, a sign-up or a deletion, in any spelling', async () => {
    const { ada, listId } = await sendTestCampaign()
    await report({ type, email: 'PERSON-1@Example.com' })
    const later = await createTestList(ctx)
    const signUp = (list: ListId) => subscribe(ctx, list, { email: ada.email, firstName: '', lastName: '' })
    // Only a person that complained is asked to confirm: a link does not lift a bounce.
    const asked = type === 'COMPLAINT' ? [status] : []
    for (const list of [listId, later.id]) {
      await confirmSubscribers(ctx, { listId: list, contacts: [ada] })
      await signUp(list)
    }
    expect(await statusesOf(ada.id)).toEqual([status, ...asked])
    await deleteContact(ctx, ada.id)
    const again = await createTestContact(ctx, { email: ada.email })
    await confirmSubscribers(ctx, { listId: later.id, contacts: [ada] })
    await signUp(later.id)
    expect(await statusesOf(again.id)).toEqual(asked)
  })

  test('applies to a contact that gets the address later', async () => {
    await report({ type, email: 'ghost@example.com' })
    const list = await createTestList(ctx)
    const [id = newId('con')] = await addSubscribers(ctx, list.id, { count: 1 })
    const changed = await updateContact(ctx, id, { email: 'ghost@example.com' })
    expect(changed.emailSubscribedStatus).toBe(status)
    expect(await statusesOf(id)).toEqual([status])
  })
})

test('a temporary bounce only emits an event', async () => {
  const { id, ada, messageId } = await sendTestCampaign()
  await report({ permanent: false, messageId })
  await report({ permanent: false, messageId })
  expect(await statusesOf(ada.id)).toEqual(['CONFIRMED'])
  expect(await readStats(ctx, id)).toMatchObject({ bounced: 0 })
  expect((await listEventTypes(ctx)).filter((type) => type === 'mail.bounced')).toHaveLength(1)
})

test('without the id of an email, a report counts once a day', async () => {
  await createTestContact(ctx, { email: 'person-1@example.com' })
  for (let time = 0; time < 2; time++) await report({ type: 'COMPLAINT' })
  vi.useFakeTimers({ now: Date.now() + 24 * 60 * 60 * 1000, toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  await report({ type: 'COMPLAINT' })
  expect((await listEventTypes(ctx)).filter((type) => type === 'mail.complained')).toHaveLength(2)
})

test('a complaint overrides a bounce in either order', async () => {
  const { ada } = await sendTestCampaign()
  await report({ type: 'COMPLAINT' })
  await report({ type: 'BOUNCE' })
  expect(await statusesOf(ada.id)).toEqual(['COMPLAINED'])
  await report({ type: 'BOUNCE', email: 'person-2@example.com' })
  await report({ type: 'COMPLAINT', email: 'person-2@example.com' })
  const found = await readSuppressions(ctx, { email: 'person-2@example.com' })
  expect(byStrictness(found).map(({ reason }) => reason)).toEqual(['COMPLAINED', 'BOUNCED'])
})

test.each([
  'x',
  '<1@example.com>',
  'cmp_x.con_y@example.com',
  '<cmp_01kag7m3v9e8fs2t4w6x8y0z1b.con_01kag7m3v9e8fs2t4w6x8y0z1b@example.com>',
  '<cmp_zzzzzzzzzzzzzzzzzzzzzzzzzz.con_zzzzzzzzzzzzzzzzzzzzzzzzzz@example.com>',
])('accepts a report with an unknown message id: %s', async (messageId) => {
  const { ada } = await sendTestCampaign()
  await report({ messageId })
  expect(await statusesOf(ada.id)).toEqual(['BOUNCED'])
})

test('a complaint holds for the address that the recipient has by now', async () => {
  const { ada, messageId } = await sendTestCampaign()
  await updateContact(ctx, ada.id, { email: 'ada@new.example' })
  await report({ type: 'COMPLAINT', messageId })
  expect(await statusesOf(ada.id)).toEqual(['COMPLAINED'])
})

test("a message id of another workspace's campaign is not counted", async () => {
  const { id, messageId } = await sendTestCampaign()
  const ownCtx = ctx
  ctx = await createTestCtx(database.db)
  await report({ messageId })
  expect(await readStats(ownCtx, id)).toMatchObject({ bounced: 0 })
  expect(await listEventTypes(ctx)).toEqual(['mail.bounced'])
})

test("unsubscribing by a campaign's link counts once in the campaign", async () => {
  const { id, listId, ada } = await sendTestCampaign()
  const url = new URL(unsubscribeUrl(ctx, { listId, contactId: ada.id, email: ada.email, campaignId: id }))
  for (let time = 0; time < 2; time++) await unsubscribe(ctx, url.searchParams.get('token') ?? '')
  expect(await readStats(ctx, id)).toMatchObject({ unsubscribed: 1 })
})

test('purges reports after 30 days and keeps the suppression', async () => {
  const { ada } = await sendTestCampaign()
  await report({})
  expect(await purgeMailReports(database.db)).toBe(0)
  await database.db.execute(sql`update mail_reports set created_at = now() - interval '31 days'
    where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(await purgeMailReports(database.db)).toBe(1)
  await confirmSubscribers(ctx, { listId: (await createTestList(ctx)).id, contacts: [ada] })
  expect(await statusesOf(ada.id)).toEqual(['BOUNCED'])
})
