import { createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { askVisitors, listVisitorMails, useMailedLink } from '@rapport/testing/consent/visitor-mails.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { createUser } from '../../auth/users.ts'
import { events, lists, mails, members } from '../../db/schema/index.ts'
import type { List } from '../../lists/lists.schema.ts'
import { readList } from '../../lists/lists.ts'
import { addSubscriber, listSubscribers } from '../../lists/subscribers.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { renderMail } from '../../operations/mail/render-mail.ts'
import {
  countWithheldMails,
  listUnusedSignups,
  listWithholdingWorkspaces,
} from '../../operations/overviews/withheld-mails.ts'
import { setQuotas } from '../../workspaces/set-quotas.ts'
import { resumeWorkspace, suspendWorkspace } from '../../workspaces/suspension.ts'
import { findWaitingWorkspaces, releaseVisitorMails } from './release-visitor-mails.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const hour = 60 * 60 * 1000
let list: List
beforeEach(async () => {
  await setQuotas(ctx, { confirmations: 1 })
  list = await createTestList(ctx)
})

const after = (hours: number) => timestampAt(Date.now() + hours * hour)
async function readEvents() {
  const ofType = and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, 'confirmations.withheld'))
  const rows = await ctx.db.select({ data: events.data }).from(events).where(ofType).orderBy(events.id)
  return rows.map(({ data }) => data)
}
const readNotices = () =>
  ctx.db
    .select()
    .from(mails)
    .where(and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.kind, 'CONFIRMATIONS_WITHHELD')))

async function join(role: 'OWNER' | 'ADMIN', email: string): Promise<void> {
  const { id: userId } = await createUser(ctx, { email, name: 'Ada', passwordHash: '', by: 'invite' })
  await ctx.db.insert(members).values({ workspaceId: ctx.workspaceId, userId, role })
}

test('an event names each list when its first mail waits, then at most once an hour', async () => {
  const other = await createTestList(ctx, { name: 'Other' })
  await askVisitors(ctx, list.id, { count: 1 })
  await releaseVisitorMails(ctx)
  expect(await readEvents()).toEqual([])
  await askVisitors(ctx, list.id, { count: 1, name: 'first' })
  await releaseVisitorMails(ctx)
  const since = expect.any(String)
  const first = { listId: list.id, count: 1, since }
  expect(await readEvents()).toEqual([first])
  await askVisitors(ctx, list.id, { count: 3, name: 'more' })
  await askVisitors(ctx, other.id, { count: 1, name: 'other' })
  await releaseVisitorMails(ctx)
  await releaseVisitorMails(ctx, { now: after(0.9) })
  const ofOther = { listId: other.id, count: 1, since }
  expect(await readEvents()).toEqual([first, ofOther])
  await releaseVisitorMails(ctx, { now: after(1.1) })
  expect(await readEvents()).toHaveLength(4)
  expect(await readEvents()).toContainEqual({ ...first, count: 4 })
  await setQuotas(ctx, { confirmations: 0 })
  await releaseVisitorMails(ctx, { now: after(3) })
  expect(await readEvents()).toHaveLength(4)
})

test('a person who opts out after asking is neither counted nor listed', async () => {
  await askVisitors(ctx, list.id, { count: 3 })
  const [, , left = ''] = await listVisitorMails(ctx)
  await suppress(ctx, [{ email: left, reason: 'OPTED_OUT', source: 'LINK' }], { emitsEvents: false })
  await releaseVisitorMails(ctx)
  const { data } = await listSubscribers(ctx, list.id, { withheld: true, limit: 10, sort: '-createdAt' })
  expect(data).toHaveLength(1)
  expect((await readList(ctx, list.id)).withheldConfirmations).toBe(1)
  expect(await readEvents()).toMatchObject([{ listId: list.id, count: 1 }])
})

test('a person who asks to come back is counted and listed until the email is sent', async () => {
  const email = 'ada-1@example.com'
  await addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })
  await suppress(ctx, [{ email, reason: 'OPTED_OUT', source: 'LINK' }], { emitsEvents: false })
  await askVisitors(ctx, list.id, { count: 1 })
  await askVisitors(ctx, list.id, { count: 1, name: 'ada' })
  await releaseVisitorMails(ctx)
  const listStatuses = async (withheld: boolean) =>
    (await listSubscribers(ctx, list.id, { withheld, limit: 10, sort: '-createdAt' })).data.map(({ status }) => status)
  expect([await listStatuses(true), await listStatuses(false)]).toEqual([['UNSUBSCRIBED'], ['PENDING']])
  expect((await readList(ctx, list.id)).withheldConfirmations).toBe(1)
  expect(await readEvents()).toMatchObject([{ listId: list.id, count: 1 }])
  await setQuotas(ctx, { confirmations: 2 })
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 1 })
  await useMailedLink(ctx, email)
  expect([await listStatuses(true), await listStatuses(false)]).toEqual([[], ['PENDING', 'CONFIRMED']])
})

test.each([
  ['opts out', { reason: 'OPTED_OUT', source: 'LINK' }],
  ['bounces', { reason: 'BOUNCED', source: 'MAIL_EVENT' }],
  ['is in a file of bounces', { reason: 'BOUNCED', source: 'IMPORT', at: after(-24) }],
  ['is blocked', { reason: 'MANUAL', source: 'API' }],
] as const)('a person who asks to come back and then %s is neither counted nor listed', async (_name, said) => {
  const email = 'ada-1@example.com'
  await addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })
  await suppress(ctx, [{ email, reason: 'OPTED_OUT', source: 'LINK' }], { emitsEvents: false })
  await askVisitors(ctx, list.id, { count: 1 })
  await askVisitors(ctx, list.id, { count: 1, name: 'ada' })
  await suppress(ctx, [{ email, ...said }], { emitsEvents: false })
  await releaseVisitorMails(ctx)
  expect(await listVisitorMails(ctx, 'WITHHELD')).toEqual([email])
  expect((await listSubscribers(ctx, list.id, { withheld: true, limit: 10, sort: '-createdAt' })).data).toEqual([])
  expect((await readList(ctx, list.id)).withheldConfirmations).toBe(0)
  expect(await readEvents()).toEqual([])
})

test('the owners get an email, once a day, that says what waits', async () => {
  await join('OWNER', 'owner@example.com')
  await join('ADMIN', 'admin@example.com')
  await askVisitors(ctx, list.id, { count: 3 })
  await releaseVisitorMails(ctx)
  await releaseVisitorMails(ctx, { now: after(2) })
  const [notice, ...others] = await readNotices()
  expect([notice?.toAddress, others]).toEqual(['owner@example.com', []])
  const mail = notice && (await renderMail(ctx, notice))
  expect(mail?.subject).toBe('Confirmation emails of Analytical Engines are withheld')
  expect(mail?.text).toContain(`2 for “Product news” (${list.id})`)
  await setQuotas(ctx, { confirmations: 0 })
  await releaseVisitorMails(ctx)
  expect(notice && (await renderMail(ctx, notice))).toBeUndefined()
})

test('the operator sees how many wait, and in which workspaces', async () => {
  const before = await countWithheldMails(ctx.db)
  await askVisitors(ctx, list.id, { count: 3 })
  await releaseVisitorMails(ctx)
  expect(await countWithheldMails(ctx.db)).toBe(before + 2)
  const found = (await listWithholdingWorkspaces(ctx.db)).find(({ workspaceId }) => workspaceId === ctx.workspaceId)
  expect(found).toMatchObject({ name: 'Analytical Engines', count: 2, since: expect.any(String) })
})

test('lists that are OPEN are named once no visitor has subscribed for 90 days', async () => {
  const namesUnused = async () => (await listUnusedSignups(ctx.db)).some(({ listId }) => listId === list.id)
  expect(await namesUnused()).toBe(false)
  await ctx.db
    .update(lists)
    .set({ createdAt: after(-91 * 24) })
    .where(eq(lists.id, list.id))
  await addSubscriber(ctx, list.id, { email: 'ada@example.com' })
  expect(await namesUnused()).toBe(true)
  await askVisitors(ctx, list.id, { count: 1 })
  expect(await namesUnused()).toBe(false)
})

test('nothing is released while the workspace is suspended', async () => {
  const waits = async () => (await findWaitingWorkspaces(ctx.db, { onlyNew: true })).includes(ctx.workspaceId)
  await askVisitors(ctx, list.id, { count: 1 })
  expect(await waits()).toBe(true)
  await suspendWorkspace(ctx)
  expect([await waits(), await releaseVisitorMails(ctx)]).toEqual([false, { released: 0, withheld: 0, givenUp: 0 }])
  await resumeWorkspace(ctx)
  expect([await waits(), await releaseVisitorMails(ctx)]).toMatchObject([true, { released: 1 }])
})

const launch = countRuns({ gate: 48, full: 300 })
test(`of ${launch} sign-ups with used links, none waits for three minutes`, async () => {
  await setQuotas(ctx, { confirmations: launch / 3 })
  const start = Date.now()
  const [asked, mailed, used] = [new Map<string, number>(), new Map<string, number>(), new Set<string>()]
  const stepSeconds = 10
  for (let seconds = 0; seconds <= 300; seconds += stepSeconds) {
    const now = timestampAt(start + seconds * 1000)
    for (const [email, at] of mailed) {
      if (used.has(email) || seconds - at < 50) continue
      await useMailedLink(ctx, email)
      used.add(email)
    }
    if (seconds < 120) {
      const emails = await askVisitors(ctx, list.id, { count: launch / 12, name: `at-${seconds}` })
      for (const email of emails) asked.set(email, seconds)
    }
    await releaseVisitorMails(ctx, { now })
    for (const email of await listVisitorMails(ctx, 'RELEASED')) if (!mailed.has(email)) mailed.set(email, seconds)
  }
  const waits = [...asked].map(([email, at]) => (mailed.get(email) ?? Infinity) - at)
  expect(waits).toHaveLength(launch)
  expect(Math.max(...waits)).toBeLessThanOrEqual(180)
})
