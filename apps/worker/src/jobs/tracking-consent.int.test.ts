/** What a campaign to recipients of mixed consent records, when all of them open their mail and click every link. */
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { recordOpen, resolveTrackedLink } from '@rapport/core/campaigns/tracking.ts'
import { events, trackingConsents } from '@rapport/core/db/schema/index.ts'
import { type ContactId, idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { setTrackingConsent } from '@rapport/core/operations/contacts/tracking-consent.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { TrackingLevel } from '@rapport/core/consent/tracking/tracking-level.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import { createTestCampaign, createTestCtx, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'

const database = useTestDatabase()
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let ctx: Ctx
let before: number
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  before = smtp.mails.length
})

const html = `<a href="https://example.com/offer">Offer</a>
  <a href="https://example.com/?e={{ contact.email }}">Yours</a> <a href="{{ unsubscribeUrl }}">Leave</a>`

interface Person {
  id: ContactId
  uuid: string
  email: string
}

/** Sends a campaign to people whose choice is that of their number: GRANTED, DENIED, or nothing. */
async function sendToMixed(count: number, withoutConsent?: TrackingLevel) {
  if (withoutConsent) await updateWorkspace(ctx, { trackingWithoutConsent: withoutConsent })
  const campaign = await createTestCampaign(ctx, { confirmed: count, html, trackOpens: true, trackClicks: true })
  const { rows } = await database.pool.query<{ uuid: string; email: string }>(
    `select id as uuid, email from contacts where workspace_id = $1 order by id`,
    [uuidOf(ctx.workspaceId)],
  )
  const people = rows.map(({ uuid, email }): Person => ({ id: idOf('con', uuid), uuid, email }))
  const choices = [people.filter((_, n) => n % 3 === 0), people.filter((_, n) => n % 3 === 1)]
  for (const [index, choice] of (['GRANTED', 'DENIED'] as const).entries()) {
    const chosen = (choices[index] ?? []).map(({ id }) => ({ contactId: id, opens: choice, clicks: choice }))
    await ctx.db.insert(trackingConsents).values(chosen.map((row) => ({ workspaceId: ctx.workspaceId, ...row })))
  }
  await sendCampaign(ctx, campaign.id)
  for (const uuid of await listPendingWork(ctx, 'campaigns'))
    await sendCampaignBatch(deps, jobOf(ctx, 'CAMPAIGN_BATCH', uuid))
  await smtp.waitFor(before + count)
  const [granted = [], denied = []] = choices
  const unknown = people.filter((_, n) => n % 3 === 2)
  return { campaign, granted, denied, unknown }
}

const tokensIn = (mail: string, path: string) =>
  [...mail.matchAll(new RegExp(`/public/${path}\\?token=([\\w.-]+)`, 'g'))].map(([, token = '']) => token)

/** Loads every image and follows every link of the mails, twice. */
async function openAll(to?: readonly Person[]) {
  const emails = to && new Set(to.map(({ email }) => email))
  for (const mail of smtp.mails.slice(before).filter((one) => !emails || emails.has(one.to[0] ?? ''))) {
    for (const token of tokensIn(mail.html, 'open')) await recordOpen(ctx, token, { shouldRecord: true })
    for (const token of tokensIn(mail.html, 'click'))
      expect(await resolveTrackedLink(ctx, token, { shouldRecord: true })).toMatch(/^https:\/\/example\.com\//)
  }
}

async function readRecorded(): Promise<string[]> {
  const { rows } = await database.pool.query<{ uuid: string }>(
    `select contact_id as uuid from campaign_recipients
     where workspace_id = $1 and (opened_at is not null or clicked_at is not null) order by 1`,
    [uuidOf(ctx.workspaceId)],
  )
  return rows.map(({ uuid }) => uuid)
}

const inOrder = (people: readonly Person[]) => people.map(({ uuid }) => uuid).toSorted()

const size = countRuns({ gate: 120, full: 10_000 })

test(`of ${size} recipients, nothing is recorded about who denied or never said`, async () => {
  const { campaign, granted, denied, unknown } = await sendToMixed(size)
  await openAll()
  await openAll(granted.slice(0, 10))
  expect(await readRecorded()).toEqual(inOrder(granted))
  expect(await readStats(ctx, campaign.id)).toMatchObject({
    sent: size,
    opened: granted.length,
    clicked: granted.length,
    anonymousOpens: unknown.length,
    anonymousClicks: unknown.length,
  })
  const others = [...denied, ...unknown].map(({ uuid }) => uuid)
  const { rows } = await database.pool.query<{ count: number }>(
    `select (select count(*)::int from contacts where id = any($1) and last_activity_at is not null)
       + (select count(*)::int from campaign_recipients where contact_id = any($1) and (opens_tracked or clicks_tracked)) as count`,
    [others],
  )
  expect(rows).toEqual([{ count: 0 }])
  expect(await ctx.db.$count(events)).toBeLessThan(10)
})

test('an anonymous mail names no recipient, and leaves links with a value as they are', async () => {
  const { denied, unknown } = await sendToMixed(6)
  const mailTo = (person?: Person) => smtp.mails.slice(before).find(({ to }) => to[0] === person?.email)?.html ?? ''
  const anonymous = unknown.map((person) => mailTo(person))
  const tokens = anonymous.map((mail) => [...tokensIn(mail, 'open'), ...tokensIn(mail, 'click')])
  expect(tokens[0]).toHaveLength(2)
  expect(tokens[0]).toEqual(tokens[1])
  for (const [index, mail] of anonymous.entries()) {
    expect(mail).toContain(`https://example.com/?e=${unknown[index]?.email}`)
    expect(mail).toMatch(/href="[^"]+\/public\/unsubscribe\?token=/)
  }
  expect(mailTo(denied[0])).not.toMatch(/public\/(open|click)/)
})

describe('without consent', () => {
  test.each([
    ['OFF', 0, 0],
    ['PERSON', 2, 0],
  ] as const)('%s records what the operator decides', async (level, people, anonymous) => {
    const { campaign, granted } = await sendToMixed(6, level)
    await openAll()
    expect(await readStats(ctx, campaign.id)).toMatchObject({
      opened: granted.length + people,
      clicked: granted.length + people,
      anonymousOpens: anonymous,
      anonymousClicks: anonymous,
    })
  })
})

test('a mail sent yesterday records nothing about who denies or is deleted today', async () => {
  const { campaign, granted } = await sendToMixed(9)
  const [ada, bob, eve] = granted
  if (!ada || !bob || !eve) throw new Error('three people have granted')
  await setTrackingConsent(ctx, ada.id, { opens: 'DENIED', clicks: 'DENIED' })
  await setTrackingConsent(ctx, bob.id, { clicks: 'DENIED' })
  await deleteContact(ctx, eve.id)
  await openAll(granted)
  expect(await readRecorded()).toEqual([bob.uuid])
  expect(await readStats(ctx, campaign.id)).toMatchObject({ opened: 1, clicked: 0, anonymousOpens: 0 })
})

test('a token of another workspace or a changed one counts nowhere', async () => {
  const { campaign } = await sendToMixed(3)
  const [first = ''] = smtp.mails.slice(before).flatMap((mail) => tokensIn(mail.html, 'open'))
  const [body = '', mac = ''] = first.split('.')
  const other = await createTestCtx(database.db)
  const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as string[]
  payload[0] = uuidOf(other.workspaceId)
  const changed = `${Buffer.from(JSON.stringify(payload)).toString('base64url')}.${mac}`
  await expect(recordOpen(ctx, changed, { shouldRecord: true })).rejects.toMatchObject({ code: 'invalid_token' })
  expect(await readStats(ctx, campaign.id)).toMatchObject({ opened: 0, anonymousOpens: 0 })
})
