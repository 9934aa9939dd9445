import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import {
  askVisitors,
  backdateVisitorMails,
  listVisitorMails,
  useMailedLink,
} from '@rapport/testing/consent/visitor-mails.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { lockName } from '../../db/statements/advisory-locks.ts'
import { mails, visitorMails } from '../../db/schema/index.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import { clearDeletedList, deleteList } from '../../lists/delete-list.ts'
import type { List } from '../../lists/lists.schema.ts'
import { listLists, readList } from '../../lists/lists.ts'
import { addSubscriber, listSubscribers, removeSubscriber } from '../../lists/subscribers.ts'
import { deleteContact } from '../../operations/contacts/delete-contact.ts'
import { requestPersonalData } from '../../operations/preferences/personal-data-mail.ts'
import { readUsage } from '../../operations/overviews/workspace-usage.ts'
import { preferencesToken } from '../../consent/preferences-links.ts'
import { setQuotas } from '../../workspaces/set-quotas.ts'
import { releaseVisitorMails } from './release-visitor-mails.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
beforeEach(async () => {
  await setQuotas(ctx, { confirmations: 3, personalDataMails: 2 })
  list = await createTestList(ctx)
})

const newest = { limit: 50, sort: '-createdAt' } as const
const listWithheld = async (withheld = true) =>
  (await listSubscribers(ctx, list.id, { ...newest, withheld })).data.map(({ contactId }) => contactId)
const contactOf = async (email: string) => {
  const isMail = and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.toAddress, email))
  const [mail] = await ctx.db.select().from(mails).where(isMail)
  return mail?.data.contactId ?? newId('con')
}

describe('the budget for confirmations', () => {
  test('over it, a mail waits: the subscription is PENDING, and the oldest go first', async () => {
    const emails = await askVisitors(ctx, list.id, { count: 5 })
    expect(await listPendingWork(ctx)).toEqual([])
    expect(await releaseVisitorMails(ctx)).toEqual({ released: 3, withheld: 2, givenUp: 0 })
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(3)
    expect(await listVisitorMails(ctx, 'RELEASED')).toEqual(emails.slice(0, 3))
    const { data } = await listSubscribers(ctx, list.id, { ...newest, status: 'PENDING' })
    expect(data).toHaveLength(5)
    expect(await readList(ctx, list.id)).toMatchObject({ withheldConfirmations: 2 })
    await backdateVisitorMails(ctx, 23)
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0 })
  })

  test('after 24 hours the oldest that wait are sent, as many as were counted then', async () => {
    const emails = await askVisitors(ctx, list.id, { count: 3 })
    await releaseVisitorMails(ctx)
    await backdateVisitorMails(ctx, 12)
    const later = await askVisitors(ctx, list.id, { count: 5, name: 'later' })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0, withheld: 5 })
    await backdateVisitorMails(ctx, 13)
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 3, givenUp: 0 })
    expect(await listVisitorMails(ctx, 'RELEASED')).toEqual([...emails, ...later.slice(0, 3)])
  })

  test('each link that was used allows five more for a week, once', async () => {
    const [own = ''] = await askVisitors(ctx, list.id, { count: 30 })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 3 })
    await useMailedLink(ctx, own)
    await useMailedLink(ctx, own)
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 5 })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0 })
    expect((await readUsage(ctx)).confirmations).toEqual({ used: 8, isEstimate: false, limit: 3 })
    await backdateVisitorMails(ctx, 6 * 24)
    await askVisitors(ctx, list.id, { count: 20, name: 'later' })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 8 })
    await backdateVisitorMails(ctx, 25)
    await askVisitors(ctx, list.id, { count: 20, name: 'last' })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 3 })
  })

  test('someone who uses own links widens it by five for each', async () => {
    const own = await askVisitors(ctx, list.id, { count: 3, name: 'own' })
    await releaseVisitorMails(ctx)
    const flood = await askVisitors(ctx, list.id, { count: 20 })
    for (const email of own) {
      await useMailedLink(ctx, email)
      await useMailedLink(ctx, email)
    }
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 15, withheld: 5 })
    expect(await listVisitorMails(ctx, 'WITHHELD')).toEqual(flood.slice(15))
  })

  test('a link of a mail that a caller with a credential asked for allows no more', async () => {
    await askVisitors(ctx, list.id, { count: 4 })
    await releaseVisitorMails(ctx)
    await addSubscriber(ctx, list.id, { email: 'ada@example.com' })
    await useMailedLink(ctx, 'ada@example.com')
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0 })
  })

  test('what a caller with a credential asks for takes none of it, and is asked at once', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await addSubscriber(ctx, list.id, { email: `${name}@example.com` })
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(4)
    await askVisitors(ctx, list.id, { count: 4 })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 3, withheld: 1 })
    const [withheld] = await listWithheld()
    await addSubscriber(ctx, list.id, { contactId: withheld ?? newId('con') })
    await addSubscriber(ctx, list.id, { contactId: withheld ?? newId('con') })
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(8)
    expect(await listWithheld()).toEqual([])
    await setQuotas(ctx, { confirmations: 0 })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0 })
  })

  test('a mail waits for 24 hours, is given up, and its subscription remains listed', async () => {
    await askVisitors(ctx, list.id, { count: 5 })
    await releaseVisitorMails(ctx)
    const waiting = await listWithheld()
    expect(waiting).toHaveLength(2)
    await backdateVisitorMails(ctx, 25)
    expect(await releaseVisitorMails(ctx)).toEqual({ released: 0, withheld: 0, givenUp: 2 })
    expect(await listWithheld()).toEqual(waiting)
    expect(await readList(ctx, list.id)).toMatchObject({ withheldConfirmations: 0 })
    expect(await listWithheld(false)).toHaveLength(3)
    await removeSubscriber(ctx, list.id, waiting[0] ?? newId('con'))
    expect(await listWithheld()).toEqual(waiting.slice(1))
  })

  test('someone who is taken off the list waits no more', async () => {
    await askVisitors(ctx, list.id, { count: 5 })
    await releaseVisitorMails(ctx)
    const [first, second] = await listWithheld()
    await removeSubscriber(ctx, list.id, first ?? newId('con'))
    expect([await listWithheld(), (await readList(ctx, list.id)).withheldConfirmations]).toEqual([[second], 1])
  })

  test('0: a mail is enqueued at once, and what waits is released', async () => {
    await askVisitors(ctx, list.id, { count: 4 })
    await releaseVisitorMails(ctx)
    await setQuotas(ctx, { confirmations: 0 })
    await askVisitors(ctx, list.id, { count: 2, name: 'free' })
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(5)
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 1 })
  })

  test('the deletion of contacts or of the list does not change what was counted', async () => {
    const emails = await askVisitors(ctx, list.id, { count: 4 })
    await releaseVisitorMails(ctx)
    for (const email of emails) await deleteContact(ctx, await contactOf(email))
    const rows = await ctx.db
      .select()
      .from(visitorMails)
      .where(eq(visitorMails.workspaceId, ctx.workspaceId))
      .orderBy(visitorMails.createdAt, visitorMails.id)
    expect(rows.map(({ contactId, status }) => [contactId, status])).toEqual([
      ...Array.from({ length: 3 }, () => [null, 'RELEASED']),
      [null, 'REPLACED'],
    ])
    await askVisitors(ctx, list.id, { count: 1, name: 'later' })
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0, withheld: 1 })
    await deleteList(ctx, list.id)
    while (await clearDeletedList(ctx, uuidOf(list.id)));
    expect(await listVisitorMails(ctx, 'GIVEN_UP')).toEqual(['later-1@example.com'])
  })

  test('a page of lists does not count what waits', async () => {
    expect((await listLists(ctx, newest)).data[0]).not.toHaveProperty('withheldConfirmations')
  })

  test('a request waits for no lock of the workspace, nor does a release of another one', async () => {
    const other = await createTestCtx(database.db)
    const lock = await openTransaction(ctx.db, (db) => lockName(db, `visitor mails ${uuidOf(ctx.workspaceId)}`))
    await askVisitors(ctx, list.id, { count: 2 })
    await releaseVisitorMails(other)
    await lock.commit()
    expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 2 })
  })

  test('holds exactly while many processes release at once', async () => {
    await askVisitors(ctx, list.id, { count: 8 })
    const results = await Promise.all(Array.from({ length: 6 }, () => releaseVisitorMails(ctx)))
    expect(results.reduce((total, { released }) => total + released, 0)).toBe(3)
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(3)
  })
})

test('mails of personal data have a budget of their own', async () => {
  await askVisitors(ctx, list.id, { count: 3 })
  await addSubscribers(ctx, list.id, { count: 1 })
  for (const email of ['a@example.com', 'b@example.com', 'c@example.com']) {
    const { id: contactId } = await createTestContact(ctx, { email })
    expect(
      await requestPersonalData(ctx, {
        token: preferencesToken(ctx, { workspaceId: ctx.workspaceId, contactId, email }),
      }),
    ).toBe(true)
  }
  expect(await releaseVisitorMails(ctx)).toEqual({ released: 5, withheld: 1, givenUp: 0 })
  expect(await listVisitorMails(ctx, 'WITHHELD')).toEqual(['c@example.com'])
  expect((await readUsage(ctx)).personalDataMails).toEqual({ used: 2, isEstimate: false, limit: 2 })
})
