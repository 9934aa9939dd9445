import { claimTestBatch, sendTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestList,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { unsubscribeTokenOf } from '@rapport/testing/consent/test-subscriber.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { expect, test } from 'vitest'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { sendCampaign } from '../../campaigns/send-campaign.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { type ListId, uuidOf } from '../../kernel/ids.ts'
import { clearDeletedList, deleteList } from '../../lists/delete-list.ts'
import { addSubscriber, readSubscriber } from '../../lists/subscribers.ts'
import { unsubscribeUrl } from '../../lists/subscription-links.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { deleteContact } from './delete-contact.ts'
import { unsubscribe } from './unsubscribe.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const email = 'ada@example.com'

/** Sends a campaign to a contact with the address, and calls `say` before the worker claims it. */
async function sendAfter(say: (listId: Awaited<ReturnType<typeof createTestCampaign>>['listId']) => Promise<unknown>) {
  const { id, listId } = await createTestCampaign(ctx, { confirmed: 1 })
  if (!listId) throw new Error('The campaign has no list')
  const { id: contactId } = await createTestContact(ctx, { email })
  await addSubscriber(ctx, listId, { contactId, status: 'CONFIRMED' })
  await sendCampaign(ctx, id)
  await say(listId)
  const [batch] = await listPendingWork(ctx, 'campaigns')
  const { recipients } = await sendTestBatch(ctx, await claimTestBatch(ctx, batch, await createTestWorker(database.db)))
  return { emails: recipients.map((recipient) => recipient.email), stats: await readStats(ctx, id) }
}

test('a link in an email to a deleted contact stops campaigns to the next contact', async () => {
  const former = await createTestContact(ctx, { email })
  await deleteContact(ctx, former.id)
  const { emails, stats } = await sendAfter((listId) => {
    const url = unsubscribeUrl(ctx, { listId: listId ?? ('' as never), contactId: former.id, email })
    return unsubscribe(ctx, new URL(url).searchParams.get('token') ?? '')
  })
  expect(emails).not.toContain(email)
  expect(stats).toMatchObject({ queued: 2, sent: 1, skipped: 1, pending: 0 })
})

test('the link of a list that was deleted opts out of all newsletters', async () => {
  const [deleted, list] = [await createTestList(ctx), await createTestList(ctx)]
  const { id: contactId } = await createTestContact(ctx, { email })
  const add = (listId: ListId) => addSubscriber(ctx, listId, { contactId, status: 'CONFIRMED' })
  for (const { id } of [deleted, list]) await add(id)
  const token = unsubscribeTokenOf(ctx, deleted, { id: contactId, email })
  await deleteList(ctx, deleted.id)
  while (await clearDeletedList(ctx, uuidOf(deleted.id)));
  expect(await unsubscribe(ctx, token)).toBeUndefined()
  expect(await readSubscriber(ctx, list.id, contactId)).toMatchObject({ status: 'UNSUBSCRIBED' })
  await expect(add((await createTestList(ctx)).id)).rejects.toMatchObject({ code: 'opted_out' })
})

test('an address that is suppressed after `send` is skipped', async () => {
  const { emails, stats } = await sendAfter(() =>
    suppress(ctx, [{ email, reason: 'MANUAL', source: 'API' }], { emitsEvents: true }),
  )
  expect(emails).not.toContain(email)
  expect(stats).toMatchObject({ queued: 2, sent: 1, skipped: 1, pending: 0 })
})

test('what an unsubscribe says is written once, with the contact that it was seen at', async () => {
  const list = await createTestList(ctx)
  const { id } = await createTestContact(ctx, { email })
  await addSubscriber(ctx, list.id, { contactId: id, status: 'CONFIRMED' })
  const token = unsubscribeTokenOf(ctx, list, { id, email })
  const statements = await recordStatements(database, ctx, (ctx) => unsubscribe(ctx, token))
  expect(statements.filter(({ text }) => /(?:insert into|update) suppressions/.test(text))).toHaveLength(1)
  expect(await readSuppressions(ctx, { email, listId: list.id })).toMatchObject([{ contactId: id }])
})
