import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { CampaignInput } from '../campaigns/campaigns.schema.ts'
import { sendTestMail } from '../campaigns/campaign-mail.ts'
import { updateCampaign, createCampaign, readCampaign } from '../campaigns/campaigns.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { createForm, readForm } from '../forms/forms.ts'
import { FormInput } from '../forms/forms.schema.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { runTestImport, queueTestImport, runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import {
  addSubscribers,
  createTestCampaign,
  createTestCtx,
  createTestList,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { transaction } from '../db/transaction.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { clearDeletedList, deleteList } from './delete-list.ts'
import type { List } from './lists.schema.ts'
import { updateList, listLists, readList } from './lists.ts'
import { addSubscriber, listSubscribers, readSubscriber, removeSubscriber } from './subscribers.ts'
import { subscribe } from './subscribe.ts'
import { readContact } from '../contacts/read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
beforeEach(async () => {
  list = await createTestList(ctx)
})

const notFound = { code: 'not_found', message: 'List not found' }
const unknownList = { code: 'validation_error', issues: [{ path: 'listId', message: 'List not found' }] }
const activeCampaign = { code: 'in_use', message: 'A campaign to this list is SENDING or PAUSED' }
const clear = async () => {
  let steps = 1
  while (await clearDeletedList(ctx, uuidOf(list.id))) steps += 1
  return steps
}
const countLists = async () => (await ctx.db.execute(sql`select from lists where id = ${uuidOf(list.id)}`)).rowCount
const statuses = async () =>
  (
    await ctx.db.execute<{ status: string; count: number }>(sql`
      select email_subscribed_status as status, count(*)::int from contacts
      where workspace_id = ${uuidOf(ctx.workspaceId)} group by 1 order by 1`)
  ).rows.map(({ status, count }) => `${count} ${status}`)
const formInput = () =>
  FormInput.parse({
    name: 'Form',
    listId: list.id,
    fields: [
      { label: 'Email', type: 'EMAIL', mapsTo: 'email' },
      { label: 'Yes', type: 'CONSENT' },
    ],
  })

test('a deleted list is unavailable immediately, before the worker clears it', async () => {
  const [contactId = newId('con')] = await addSubscribers(ctx, list.id, { count: 1 })
  const [draft, other] = [await createTestCampaign(ctx, { listId: list.id }), await createTestCampaign(ctx)]
  await deleteList(ctx, list.id)
  for (const attempt of [
    () => readList(ctx, list.id),
    () => updateList(ctx, list.id, { name: 'New' }),
    () => deleteList(ctx, list.id),
    () => listSubscribers(ctx, list.id, { limit: 10, sort: '-createdAt' }),
    () => readSubscriber(ctx, list.id, contactId),
    () => removeSubscriber(ctx, list.id, contactId),
    () => addSubscriber(ctx, list.id, { contactId, status: 'CONFIRMED' }),
    () => subscribe(ctx, list.id, { email: 'ada@example.com', firstName: '', lastName: '' }),
  ]) {
    await expect(attempt()).rejects.toMatchObject(notFound)
  }
  const input = CampaignInput.parse({ name: 'a', subject: 'b', listId: list.id })
  await expect(createCampaign(ctx, input)).rejects.toMatchObject(unknownList)
  await expect(updateCampaign(ctx, other.id, { listId: list.id })).rejects.toMatchObject(unknownList)
  await expect(createForm(ctx, formInput())).rejects.toMatchObject(unknownList)
  await expect(sendCampaign(ctx, draft.id)).rejects.toMatchObject({ message: 'List has no subscribed recipients' })
  await expect(sendTestMail(ctx, draft.id, { email: 'ada@example.com' })).rejects.toMatchObject({
    code: 'wrong_state',
    message: 'The list of this campaign was deleted',
  })
  await expect(runTestImport(ctx, 'email\nnew@example.com', { listId: list.id })).rejects.toMatchObject(unknownList)
  expect((await listContacts(ctx, ContactQuery.parse({ listId: list.id }))).data).toEqual([])
  const { data } = await listLists(ctx, { limit: 10, sort: '-createdAt' })
  expect(data.map(({ id }) => id)).toEqual([other.listId])
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(list.id)])
  expect(await listEventTypes(ctx)).toEqual(['list.deleted'])
})

test('clears a list in batches that keep the status of every contact correct', async () => {
  const other = await createTestList(ctx, { name: 'Stays' })
  const ids = await addSubscribers(ctx, list.id, { count: 1_100 })
  await addSubscribers(ctx, list.id, { count: 3, status: 'UNSUBSCRIBED', name: 'left' })
  for (const id of ids.slice(0, 2)) await addSubscriber(ctx, other.id, { contactId: id, status: 'CONFIRMED' })
  const [campaign, form] = [await createTestCampaign(ctx, { listId: list.id }), await createForm(ctx, formInput())]
  const before = await readContact(ctx, ids[0] ?? newId('con'))
  await deleteList(ctx, list.id)
  expect(await clearDeletedList(ctx, uuidOf(list.id))).toBe(true)
  const wrong = await ctx.db.execute(sql`
    select from contacts c where workspace_id = ${uuidOf(ctx.workspaceId)} and (email_subscribed_status = 'NONE') = exists (
      select from subscriptions s where s.workspace_id = c.workspace_id and s.contact_id = c.id)`)
  expect(wrong.rowCount).toBe(0)
  expect(await clear()).toBe(3)
  expect(await statuses()).toEqual(['1101 NONE', '2 SUBSCRIBED'])
  expect(await countLists()).toBe(0)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  expect(await readContact(ctx, ids[0] ?? newId('con'))).toEqual(before)
  expect(await readCampaign(ctx, campaign.id)).toMatchObject({ listId: null, status: 'DRAFT' })
  expect(await readForm(ctx, form.id)).toMatchObject({ listId: null, enabled: true })
  expect((await readList(ctx, other.id)).confirmedCount).toBe(2)
  // Repeating the job has no effect.
  expect(await clearDeletedList(ctx, uuidOf(list.id))).toBe(false)
})

test('clears only deleted lists of its own workspace', async () => {
  await addSubscribers(ctx, list.id, { count: 1 })
  await deleteList(ctx, list.id)
  const otherCtx = await createTestCtx(database.db)
  expect(await clearDeletedList(otherCtx, uuidOf(list.id))).toBe(false)
  expect([await countLists(), await statuses()]).toEqual([1, ['1 SUBSCRIBED']])
})

test.each(['SENDING', 'PAUSED'])('rejects deleting a list with a campaign that is %s', async (status) => {
  const campaign = await createTestCampaign(ctx, { listId: list.id })
  const set = (to: string) => ctx.db.execute(sql`update campaigns set status = ${to} where id = ${uuidOf(campaign.id)}`)
  await set(status)
  await expect(deleteList(ctx, list.id)).rejects.toMatchObject(activeCampaign)
  expect((await readList(ctx, list.id)).id).toBe(list.id)
  for (const ended of ['DRAFT', 'SENT', 'CANCELED']) {
    await set(ended)
    const trial = transaction(ctx.db, async (db) => {
      await deleteList({ ...ctx, db }, list.id)
      throw new Error('deleted')
    })
    await expect(trial).rejects.toThrow('deleted')
  }
})

test('a concurrent send and deletion never leave a campaign without its list', async () => {
  const seen = new Set<string>()
  for (let round = 0; round < 50; round++) {
    list = await createTestList(ctx, { name: `Round ${round}` })
    await addSubscribers(ctx, list.id, { count: 1, name: `round-${round}` })
    const campaign = await createTestCampaign(ctx, { listId: list.id })
    const both = [() => sendCampaign(ctx, campaign.id), () => deleteList(ctx, list.id)]
    const [first, second] = round % 2 ? both : both.toReversed()
    await Promise.allSettled([first?.(), second?.()])
    const { status } = await readCampaign(ctx, campaign.id)
    const exists = await readList(ctx, list.id).then(
      () => true,
      () => false,
    )
    seen.add(`${status} ${exists}`)
  }
  expect([...seen].filter((outcome) => outcome !== 'SENDING true' && outcome !== 'DRAFT false')).toEqual([])
})

test('a deletion sees a campaign that is concurrently created and sent', async () => {
  await addSubscribers(ctx, list.id, { count: 1 })
  const sending = await openTransaction(ctx.db, async (db) => {
    const { id } = await createTestCampaign({ ...ctx, db }, { listId: list.id })
    await sendCampaign({ ...ctx, db }, id)
  })
  const deleting = deleteList(ctx, list.id)
  await waitUntilBlocked(ctx.db)
  await Promise.all([expect(deleting).rejects.toMatchObject(activeCampaign), sending.commit()])
})

test('a send that waits for a deletion finds no recipients', async () => {
  await addSubscribers(ctx, list.id, { count: 1 })
  const campaign = await createTestCampaign(ctx, { listId: list.id })
  const deleting = await openTransaction(ctx.db, (db) => deleteList({ ...ctx, db }, list.id))
  const sending = sendCampaign(ctx, campaign.id)
  await waitUntilBlocked(ctx.db)
  await Promise.all([
    expect(sending).rejects.toMatchObject({ message: 'List has no subscribed recipients' }),
    deleting.commit(),
  ])
  expect(await readCampaign(ctx, campaign.id)).toMatchObject({ status: 'DRAFT', sentAt: null })
})

test('subscribing during a deletion leaves no contact with a stale status', async () => {
  const people = Array.from({ length: 40 }, (_, n) => ({ email: `p${n}@example.com`, firstName: '', lastName: '' }))
  const clearing = deleteList(ctx, list.id).then(clear)
  const results = await Promise.allSettled([...people.map((person) => subscribe(ctx, list.id, person)), clearing])
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
  for (const failure of failures) expect(failure).toMatchObject(notFound)
  // The last batch covers contacts that subscribed in the meantime.
  await clear()
  expect((await statuses()).filter((status) => !status.endsWith(' NONE'))).toEqual([])
  expect(await countLists()).toBe(0)
})

test.each(['deleted', 'deleted and cleared'])('an import to a list that was %s subscribes no contact', async (how) => {
  const { id } = await queueTestImport(ctx, 'email\nada@example.com\nbob@example.com', { listId: list.id })
  await deleteList(ctx, list.id)
  if (how !== 'deleted') await clear()
  await expect(runQueuedImport(ctx, id)).rejects.toMatchObject(notFound)
  expect(await statuses()).toEqual([])
})

test('clears the list of campaigns and forms itself, as on Citus no foreign key does', async () => {
  const [campaign, form] = [await createTestCampaign(ctx, { listId: list.id }), await createForm(ctx, formInput())]
  await ctx.db.execute(sql`alter table campaigns drop constraint campaigns_list_fk`)
  await ctx.db.execute(sql`alter table forms drop constraint forms_list_fk`)
  await deleteList(ctx, list.id)
  await clear()
  expect(await readCampaign(ctx, campaign.id)).toMatchObject({ listId: null })
  expect(await readForm(ctx, form.id)).toMatchObject({ listId: null })
})
