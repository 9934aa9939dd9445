import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { and, eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { signUp } from '../auth/login.ts'
import { sendTestMail } from '../campaigns/campaign-mail.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import type { AppError } from '../kernel/errors.ts'
import { type ListId, newId } from '../kernel/ids.ts'
import { contacts, lists, mailRequests, mails, requestedMailKinds, users, workspaces } from '../db/schema/index.ts'
import { deleteList } from '../lists/delete-list.ts'
import { addSubscriber } from '../lists/subscribers.ts'
import { subscribe } from '../lists/subscribe.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { renderMail } from '../operations/mail/render-mail.ts'
import type { Ctx } from '../request/context.ts'
import { createInvite, deleteInvite } from '../team/invites.ts'
import { setQuotas } from '../workspaces/set-quotas.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCampaign, createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { purgeMailRequests } from './mail-quotas.ts'
import type { RequestedMailKind } from './mails.ts'
import { requestConfirmationMail } from './request-confirmation-mail.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
const newCtx = () => createTestCtx(database.db)
const victim = { email: 'victim@example.org', firstName: '', lastName: '' }

const countMails = (ctx: Ctx) => ctx.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))
const letPass = (interval: string) =>
  database.db.execute(sql`update mail_requests set ${backdate('created_at', interval)}`)

/** Counts the outcomes of attempts: `done`, or the quota that was used up. */
async function countOutcomes(attempts: Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const result of await Promise.allSettled(attempts)) {
    const error = result.status === 'rejected' ? (result.reason as { details?: { quota: string }; code: string }) : null
    const outcome = error === null ? 'done' : (error.details?.quota ?? error.code)
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

describe('test mails and invites', () => {
  test('an address gets five test mails a day, also from concurrent requests', async () => {
    const ctx = await newCtx()
    const { id } = await createTestCampaign(ctx)
    const addresses = ['v@example.org', 'V@Example.org', 'v+a@example.org', 'v+b@example.org']
    const attempts = Array.from({ length: 12 }, (_, index) =>
      sendTestMail(ctx, id, { email: addresses[index % addresses.length] ?? '' }),
    )
    expect(await countOutcomes(attempts)).toEqual({ done: 5, mailsPerAddress: 7 })
    await sendTestMail(ctx, id, { email: 'other@example.org' })
    await letPass('23 hours')
    await expect(sendTestMail(ctx, id, { email: 'v@example.org' })).rejects.toMatchObject({
      code: 'quota_exceeded',
      retryAfterSeconds: expect.closeTo(3_600, -2) as number,
    })
    await letPass('1 hour')
    await sendTestMail(ctx, id, { email: 'v@example.org' })
  })

  test('invites and test mails share the quota of the workspace', async () => {
    const ctx = await newCtx()
    await setQuotas(ctx, { singleMails: 4 })
    const { id } = await createTestCampaign(ctx)
    const attempts = Array.from({ length: 4 }, (_, index) => [
      createInvite(ctx, { email: `invited${index}@example.org`, role: 'VIEWER' }),
      sendTestMail(ctx, id, { email: `tested${index}@example.org` }),
    ])
    expect(await countOutcomes(attempts.flat())).toEqual({ done: 4, singleMails: 4 })
    expect(await countMails(ctx)).toBe(4)
  })

  test('deleting an invite does not reset the limits of its address', async () => {
    const ctx = await newCtx()
    const invite = (email: string) => createInvite(ctx, { email, role: 'VIEWER' })
    const refused = { code: 'quota_exceeded', message: 'This address was invited recently' }
    for (let count = 0; count < 3; count++) {
      const { id } = await invite(`Victim+${count}@example.org`)
      await deleteInvite(ctx, id)
      await expect(invite(victim.email)).rejects.toMatchObject(refused)
      await letPass('10 minutes')
    }
    await expect(invite(victim.email)).rejects.toMatchObject(refused)
    await letPass('23 hours 40 minutes')
    await invite(victim.email)
  })
})

describe('confirmations', () => {
  test('forty lists send five confirmations a day to one address', async () => {
    const ctx = await newCtx()
    const all = await Promise.all(Array.from({ length: 12 }, () => createTestList(ctx)))
    for (const { id } of all) await subscribe(ctx, id, victim)
    expect(await countMails(ctx)).toBe(5)
    const another = await newCtx()
    await subscribe(another, (await createTestList(another)).id, victim)
    expect(await countMails(another)).toBe(1)
  })

  test('grants of tracking and confirmations share a limit, personal data has its own', async () => {
    const ctx = await newCtx()
    const contactId = newId('con')
    const { email } = victim
    const ask = async (kind: RequestedMailKind, listId?: ListId) =>
      (await requestConfirmationMail(ctx, { kind, email, contactId, ...(listId && { listId }) })) !== undefined
    for (let list = 0; list < 4; list++) expect(await ask('CONFIRMATION', newId('lst'))).toBe(true)
    expect(await ask('TRACKING_CONSENT')).toBe(true)
    expect(await ask('CONFIRMATION', newId('lst'))).toBe(false)
    expect([await ask('PERSONAL_DATA'), await ask('PERSONAL_DATA')]).toEqual([true, false])
    const sent = await ctx.db.select({ kind: mails.kind }).from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
    expect(new Set(sent.map(({ kind }) => kind))).toEqual(new Set(requestedMailKinds))
  })

  test('deleting the contact or the list in between does not reset the limits', async () => {
    const ctx = await newCtx()
    const { id } = await createTestList(ctx)
    for (let round = 0; round < 4; round++) {
      await subscribe(ctx, id, victim)
      const [contact] = await ctx.db
        .select({ id: contacts.id })
        .from(contacts)
        .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.email, victim.email)))
      if (contact) await deleteContact(ctx, contact.id)
    }
    expect(await ctx.db.$count(mailRequests, eq(mailRequests.workspaceId, ctx.workspaceId))).toBe(1)
    for (let round = 0; round < 6; round++) {
      const list = await createTestList(ctx)
      await subscribe(ctx, list.id, victim)
      await deleteList(ctx, list.id)
    }
    // The first of five was deleted with its contact.
    expect(await countMails(ctx)).toBe(4)
  })

  test('a list sends three confirmations a day, one in ten minutes', async () => {
    const ctx = await newCtx()
    const { id } = await createTestList(ctx)
    for (let round = 0; round < 5; round++) {
      await Promise.all([subscribe(ctx, id, victim), subscribe(ctx, id, { ...victim, email: 'victim+1@example.org' })])
      await letPass('11 minutes')
    }
    expect(await countMails(ctx)).toBe(3)
  })

  test('a member who adds subscribers gets the same response beyond the limits', async () => {
    const ctx = await newCtx()
    for (let round = 0; round < 6; round++) {
      const { id } = await createTestList(ctx)
      const { subscription } = await addSubscriber(ctx, id, { email: victim.email, status: 'PENDING' })
      expect(subscription.status).toBe('PENDING')
    }
    expect(await countMails(ctx)).toBe(5)
  })
})

test('a campaign beyond the quota of the day is not sent', async () => {
  const ctx = await newCtx()
  await setQuotas(ctx, { campaignMails: 3 })
  const first = await createTestCampaign(ctx, { confirmed: 2 })
  const second = await createTestCampaign(ctx, { ...(first.listId && { listId: first.listId }) })
  const attempts = [sendCampaign(ctx, first.id), sendCampaign(ctx, second.id)]
  expect(await countOutcomes(attempts)).toEqual({ done: 1, campaignMails: 1 })
  const { reason } = (await Promise.allSettled(attempts)).find(({ status }) => status === 'rejected') as {
    reason: AppError
  }
  expect(reason.retryAfterSeconds).toBeGreaterThan(86_000)
  await setQuotas(ctx, { campaignMails: 1 })
  const third = await createTestCampaign(ctx, { ...(first.listId && { listId: first.listId }) })
  // Waiting does not help a campaign that is larger than the quota.
  await expect(sendCampaign(ctx, third.id)).rejects.toMatchObject({ retryAfterSeconds: undefined })
})

test('records of requested mails are deleted after a day', async () => {
  const ctx = await newCtx()
  await createInvite(ctx, { email: victim.email, role: 'VIEWER' })
  expect(JSON.stringify(await ctx.db.select().from(mailRequests))).not.toContain('victim')
  await letPass('24 hours')
  while ((await purgeMailRequests(ctx.db)) > 0);
  expect(await ctx.db.$count(mailRequests, eq(mailRequests.workspaceId, ctx.workspaceId))).toBe(1)
  await letPass('2 hours')
  expect(await purgeMailRequests(ctx.db)).toBeGreaterThan(0)
  expect(await ctx.db.$count(mailRequests)).toBe(0)
})

test('names in emails from the operator contain no URL and no address', async () => {
  const ctx = await newCtx()
  const name = 'Call https://evil.example/x or boss@evil.example now'
  await ctx.db.update(workspaces).set({ name }).where(eq(workspaces.id, ctx.workspaceId))
  const { id } = await createTestList(ctx)
  await ctx.db.update(lists).set({ name }).where(eq(lists.id, id))
  await createInvite(ctx, { email: victim.email, role: 'VIEWER' })
  await subscribe(ctx, id, victim)
  const { id: campaignId } = await createTestCampaign(ctx, { subject: 'News', html: '<p>Hello</p>' })
  await sendTestMail(ctx, campaignId, { email: victim.email })
  const rows = await ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  expect(rows).toHaveLength(3)
  for (const mail of rows) {
    const rendered = await renderMail(ctx, mail)
    const isServiceMail = mail.kind !== 'CAMPAIGN_TEST'
    expect(`${rendered?.subject} ${rendered?.text} ${rendered?.html}`.includes('evil example')).toBe(isServiceMail)
    expect(JSON.stringify(rendered)).not.toContain('evil.example')
    expect(rendered?.from.name).toBe('Call evil example/x or boss at evil example now')
  }
})

describe('with REQUIRE_VERIFIED_EMAIL', () => {
  async function signUpStrictly() {
    const base = await newCtx()
    const settings = { ...base.settings, requiresVerifiedEmail: true }
    const email = `owner-${base.workspaceId}@example.org`
    const session = await signUp({ ...base, settings }, { email, password: 'seven long wooden spoons', name: '' })
    const actor = { kind: 'user', userId: session.user.id, role: 'OWNER' } as const
    return { ctx: { ...base, settings, workspaceId: session.workspace.id, actor } satisfies Ctx, email }
  }

  test('sends only to members before an owner has verified an address', async () => {
    const { ctx, email } = await signUpStrictly()
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    const template = await createTestTemplate(ctx)
    const list = await createTestList(ctx)
    const forbidden = { code: 'forbidden' }
    await ctx.db.delete(mails)
    await expect(sendCampaign(ctx, campaign.id)).rejects.toMatchObject(forbidden)
    await expect(sendTestMail(ctx, campaign.id, { email: victim.email })).rejects.toMatchObject(forbidden)
    await expect(createTestEmail(ctx, template.id)).rejects.toMatchObject(forbidden)
    await expect(createInvite(ctx, { email: victim.email, role: 'VIEWER' })).rejects.toMatchObject(forbidden)
    expect(await subscribe(ctx, list.id, victim)).toBeUndefined()
    expect(await countMails(ctx)).toBe(0)
    await sendTestMail(ctx, campaign.id, { email })

    await ctx.db.update(users).set({ emailVerifiedAt: timestampNow() }).where(eq(users.id, ctx.actor.userId))
    expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 1, unseen: 0 })
    expect(await createTestEmail(ctx, template.id)).toMatchObject({ status: 'PENDING' })
    await sendTestMail(ctx, campaign.id, { email: victim.email })
    await createInvite(ctx, { email: victim.email, role: 'VIEWER' })
    await subscribe(ctx, list.id, victim)
    expect(await countMails(ctx)).toBe(4)
  })
})
