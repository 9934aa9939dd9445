import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { readCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { RecipientQuery } from '@rapport/core/campaigns/campaigns.schema.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { resumeCampaign, retryCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestCtx,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { addVerifiedDomain } from '@rapport/testing/network/sending-domains.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, unreachableSmtpUrl, type TestDeps } from '../../test/fixtures.ts'
import { startRefusingSmtp } from '../../test/refusing-smtp.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'

const database = useTestDatabase()
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let ctx: Ctx
/** The number of mails received before the test. */
let before: number
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  before = smtp.mails.length
})

async function startCampaign(confirmed: number, html?: string) {
  const { id } = await createTestCampaign(ctx, { confirmed, ...(html !== undefined && { html }) })
  await sendCampaign(ctx, id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  return { id, uuid }
}

const send = (uuid: string, by: TestDeps = deps) => sendCampaignBatch(by, jobOf(ctx, 'CAMPAIGN_BATCH', uuid))
/** A low `MAIL_RATE` and long templates make groups small. */
const inGroupsOf = (groupSize: number): TestDeps => ({
  ...deps,
  mailRateLimiter: { ...deps.mailRateLimiter, groupSize },
})
const addressees = () =>
  smtp.mails
    .slice(before)
    .flatMap(({ to }) => to)
    .toSorted()
const createAddresses = (count: number) =>
  Array.from({ length: count }, (_, n) => `person-${n + 1}@example.com`).toSorted()

describe('a mail server', () => {
  test('that stays unavailable pauses the campaign at the third attempt', async () => {
    const { id, uuid } = await startCampaign(50)
    const unavailable = await createTestDeps(database.db, { smtpUrl: unreachableSmtpUrl })
    await expect(send(uuid, unavailable)).rejects.toThrow('retrying')
    await expect(send(uuid, unavailable)).rejects.toThrow('retrying')
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING', pauseReason: null })
    await send(uuid, unavailable)
    expect(await readCampaign(ctx, id)).toMatchObject({
      status: 'PAUSED',
      pauseReason: expect.stringMatching(/ECONNREFUSED/),
    })
    expect(await countRecipients(ctx, id)).toEqual({ WAITING: 20 })
    expect(await readStats(ctx, id)).toMatchObject({ queued: 50, pending: 50, failed: 0 })
    await resumeCampaign(ctx, id)
    // Resuming resets the attempts.
    await expect(send(uuid, unavailable)).rejects.toThrow('retrying')
    await expect(send(uuid, unavailable)).rejects.toThrow('retrying')
    await unavailable.close()
    await send(uuid)
    expect(await readStats(ctx, id)).toMatchObject({ sent: 50, pending: 0 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
    expect(addressees()).toEqual(createAddresses(50))
  })

  test('that refuses the login or the sender pauses the campaign immediately', async () => {
    for (const refusal of ['AUTH', 'MAIL'] as const) {
      ctx = await createTestCtx(database.db)
      before = smtp.mails.length
      const { id, uuid } = await startCampaign(45)
      const server = await startRefusingSmtp(refusal)
      const refused = await createTestDeps(database.db, { smtpUrl: server.url })
      await send(uuid, refused)
      expect(await readCampaign(ctx, id)).toMatchObject({
        status: 'PAUSED',
        pauseReason: expect.stringContaining(`5.7.8 ${refusal} refused`),
      })
      expect(await readStats(ctx, id)).toMatchObject({ queued: 45, pending: 45 })
      await refused.close()
      await server.close()
      await resumeCampaign(ctx, id)
      await send(uuid)
      expect(addressees()).toEqual(createAddresses(45))
    }
  })
})

test('a domain that is not verified any more pauses its campaign before the next batch', async () => {
  const { id, uuid } = await startCampaign(25)
  const settings = { ...deps.settings, requiresVerifiedDomain: true }
  await send(uuid, { ...deps, settings })
  expect(await readCampaign(ctx, id)).toMatchObject({
    status: 'PAUSED',
    pauseReason: expect.stringContaining('The domain example.com is not verified'),
  })
  expect(await readStats(ctx, id)).toMatchObject({ queued: 25, pending: 25 })
  await expect(resumeCampaign({ ...ctx, settings }, id)).rejects.toMatchObject({ code: 'domain_not_verified' })
  await addVerifiedDomain(ctx, 'example.com')
  await resumeCampaign({ ...ctx, settings }, id)
  await send(uuid, { ...deps, settings })
  expect(addressees()).toEqual(createAddresses(25))
})

test.each([
  [20, 20],
  [3, 6],
  [1, 5],
])('a template that fails for whole groups of %d pauses the campaign', async (groupSize, failed) => {
  const { id, uuid } = await startCampaign(30, '{% for i in (1..100000000) %}x{% endfor %}')
  await send(uuid, inGroupsOf(groupSize))
  expect(await readCampaign(ctx, id)).toMatchObject({
    status: 'PAUSED',
    pauseReason: expect.stringMatching(/could not be rendered: memory alloc limit exceeded/),
  })
  expect(await readStats(ctx, id)).toMatchObject({ pending: 30 - failed, failed })
})

test('recipients whose mail is empty become FAILED, and the others get theirs', async () => {
  const html = '{% if contact.email == "person-45@example.com" %}<p>Hello</p>{% endif %}'
  const { id, uuid } = await startCampaign(45, html)
  await send(uuid)
  expect(await readStats(ctx, id)).toMatchObject({ failed: 44, sent: 1 })
  expect(addressees()).toEqual(['person-45@example.com'])
  expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
  const failed = await listRecipients(ctx, id, RecipientQuery.parse({ status: 'FAILED', limit: '1' }))
  expect(failed.data).toMatchObject([
    { error: 'The mail was not sent, because the HTML part is empty for this contact' },
  ])
})

describe('a slow template', () => {
  /** Seconds of processor time, without any output that another limit could stop. */
  const loops =
    '{% for i in (1..700) %}{% for j in (1..700) %}{% assign x = j | plus: 1 | plus: 1 | plus: 1 %}{% endfor %}{% endfor %}'
  const slugs = `{{ "${"<' a-".repeat(150_000)}" ${'| slugify'.repeat(400)} | size }}`
  const slow: [name: string, confirmed: number, html: string][] = [
    ['with loops', 30, loops],
    ['with one filter that cannot be interrupted', 1, '{{ (1..300000) | where_exp: "i", "i contains 3" | size }}'],
    // At the gate, this is the template of the last test, and of a preview in `campaign-templates.int.test.ts`.
    ['with a chain of filters', 30, slugs],
    ['with a chain of filters, for a single recipient', 1, slugs],
  ]
  test.each(slow.slice(0, countRuns({ gate: 2, full: 4 })))(
    '%s pauses the campaign, and all %i recipients stay pending',
    async (_name, confirmed, html) => {
      const { id, uuid } = await startCampaign(confirmed, html)
      await send(uuid)
      expect(await readCampaign(ctx, id)).toMatchObject({
        status: 'PAUSED',
        pauseReason: expect.stringMatching(
          /could not be rendered: template (time limit of \d+ ms|render limit) exceeded/,
        ),
      })
      expect(await readStats(ctx, id)).toMatchObject({
        queued: confirmed,
        pending: confirmed,
        failed: 0,
        interrupted: 0,
      })
      expect(addressees()).toEqual([])
      // After resuming, the campaign is paused again for the same reason.
      await resumeCampaign(ctx, id)
      await send(uuid)
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'PAUSED' })
      expect(await readStats(ctx, id)).toMatchObject({ pending: confirmed })
    },
  )

  test('for one recipient is tried three times; all other recipients get their mail', async () => {
    const { id, uuid } = await startCampaign(
      12,
      `<p>Hi</p>{% if contact.email == "person-3@example.com" %}${loops}{% endif %}`,
    )
    await expect(send(uuid)).rejects.toThrow('retrying')
    expect(await readStats(ctx, id)).toMatchObject({ sent: 11, pending: 1, failed: 0 })
    await expect(send(uuid)).rejects.toThrow('retrying')
    await send(uuid)
    expect(await readStats(ctx, id)).toMatchObject({ sent: 11, pending: 0, failed: 1 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
    expect(addressees()).toEqual(createAddresses(12).filter((address) => address !== 'person-3@example.com'))
  })

  test('for one recipient alone in its group does not stop the others', async () => {
    const { id, uuid } = await startCampaign(3, `<p>Hi</p>{% if contact.lastName == "Slow" %}${loops}{% endif %}`)
    const { rows } = await database.pool.query<{ first: string }>(
      'select contact_ids[1] as first from campaign_batches where campaign_id = $1',
      [uuidOf(id)],
    )
    await updateContact(ctx, idOf('con', rows[0]?.first ?? ''), { lastName: 'Slow' })
    for (const attempt of [1, 2]) {
      await send(uuid, inGroupsOf(1))
      // No mail was sent yet: the template may be slow for all.
      expect(await readCampaign(ctx, id), `${attempt}`).toMatchObject({ status: 'PAUSED' })
      expect(await readStats(ctx, id)).toMatchObject({ sent: 0, pending: 3 })
      await resumeCampaign(ctx, id)
    }
    await send(uuid, inGroupsOf(1))
    expect(await readStats(ctx, id)).toMatchObject({ sent: 2, failed: 1 })
    await retryCampaign(ctx, id, { includeInterrupted: false })
    await expect(send(uuid)).rejects.toThrow('retrying')
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
  })

  test('does not block the worker or other campaigns', async () => {
    const slow = await startCampaign(30, slugs)
    const slowCtx = ctx
    ctx = await createTestCtx(database.db)
    const other = await startCampaign(25, '<p>Hi {{ contact.firstName }}</p>')
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 1)
    await Promise.all([sendCampaignBatch(deps, jobOf(slowCtx, 'CAMPAIGN_BATCH', slow.uuid)), send(other.uuid)])
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(50)
    expect(await readCampaign(ctx, other.id)).toMatchObject({ status: 'SENT' })
    expect(await readStats(ctx, other.id)).toMatchObject({ sent: 25 })
    expect(await readStats(slowCtx, slow.id)).toMatchObject({ pending: 30, interrupted: 0 })
  })
})
