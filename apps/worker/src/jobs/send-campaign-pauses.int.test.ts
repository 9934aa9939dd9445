import { type AddressInfo, createServer } from 'node:net'
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { readCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { resumeCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestCtx,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, unreachableSmtpUrl, type TestDeps } from '../testing.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'

const database = useTestDatabase()
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let ctx: Ctx
/** How many mails had come before the test began. */
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

const send = (uuid: string, by: TestDeps = deps) => sendCampaignBatch(by, jobOf(ctx, uuid))
const addressees = () =>
  smtp.mails
    .slice(before)
    .flatMap(({ to }) => to)
    .toSorted()
const people = (count: number) => Array.from({ length: count }, (_, n) => `person-${n + 1}@example.com`).toSorted()

describe('a mail server', () => {
  test('that stays away pauses the campaign with the reason at the third try, and everyone waits until it is resumed', async () => {
    const { id, uuid } = await startCampaign(50)
    const away = await createTestDeps(database.db, { smtpUrl: unreachableSmtpUrl })
    await expect(send(uuid, away)).rejects.toThrow('tried again')
    await expect(send(uuid, away)).rejects.toThrow('tried again')
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING', pauseReason: null })
    await send(uuid, away)
    expect(await readCampaign(ctx, id)).toMatchObject({
      status: 'PAUSED',
      pauseReason: expect.stringMatching(/ECONNREFUSED/),
    })
    expect(await countRecipients(ctx, id)).toEqual({ WAITING: 20 })
    expect(await readStats(ctx, id)).toMatchObject({ queued: 50, pending: 50, failed: 0 })
    await resumeCampaign(ctx, id)
    // As often as before: the tries of then count for nothing.
    await expect(send(uuid, away)).rejects.toThrow('tried again')
    await expect(send(uuid, away)).rejects.toThrow('tried again')
    await away.close()
    await send(uuid)
    expect(await readStats(ctx, id)).toMatchObject({ sent: 50, pending: 0 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
    expect(addressees()).toEqual(people(50))
  })

  test('that refuses the login or the sender pauses the campaign at once with its words, and nobody is lost to it', async () => {
    for (const refusal of ['AUTH', 'MAIL'] as const) {
      ctx = await createTestCtx(database.db)
      before = smtp.mails.length
      const { id, uuid } = await startCampaign(45)
      const server = await startRefusingSmtp(refusal)
      const refused = await createTestDeps(database.db, { smtpUrl: server.url })
      await send(uuid, refused)
      expect(await readCampaign(ctx, id)).toMatchObject({
        status: 'PAUSED',
        pauseReason: expect.stringContaining(`5.7.8 no ${refusal} for you`),
      })
      expect(await readStats(ctx, id)).toMatchObject({ queued: 45, pending: 45 })
      await refused.close()
      await server.close()
      await resumeCampaign(ctx, id)
      await send(uuid)
      expect(addressees()).toEqual(people(45))
    }
  })
})

test('a template that fails for a whole group pauses the campaign with the reason: the rest is spared', async () => {
  const { id, uuid } = await startCampaign(30, '{% for i in (1..100000000) %}x{% endfor %}')
  await send(uuid)
  expect(await readCampaign(ctx, id)).toMatchObject({
    status: 'PAUSED',
    pauseReason: expect.stringMatching(/could not be made: memory alloc limit exceeded/),
  })
  expect(await readStats(ctx, id)).toMatchObject({ pending: 10, failed: 20 })
})

describe('a template that takes long', () => {
  const slugs = `{{ "${"<' a-".repeat(150_000)}" ${'| slugify'.repeat(400)} | size }}`
  test.each([
    ['in loops', 30, '{% for i in (1..700) %}{% for j in (1..700) %}{{ j }}{% endfor %}{% endfor %}'],
    ['in a chain of filters', 30, slugs],
    ['in a chain of filters, for the only recipient', 1, slugs],
    ['in one filter that nothing interrupts', 1, '{{ (1..300000) | where_exp: "i", "i contains 3" | size }}'],
  ])('%s, pauses the campaign with the reason, and all %i are pending', async (_how, confirmed, html) => {
    const { id, uuid } = await startCampaign(confirmed, html)
    await send(uuid)
    expect(await readCampaign(ctx, id)).toMatchObject({
      status: 'PAUSED',
      pauseReason: expect.stringMatching(/could not be made: template (time limit of \d+ ms|render limit) exceeded/),
    })
    expect(await readStats(ctx, id)).toMatchObject({
      queued: confirmed,
      pending: confirmed,
      failed: 0,
      interrupted: 0,
    })
    expect(addressees()).toEqual([])
    // Until somebody looks at it: to resume it is to try again.
    await resumeCampaign(ctx, id)
    await send(uuid)
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'PAUSED' })
    expect(await readStats(ctx, id)).toMatchObject({ pending: confirmed })
  })

  test('for one person alone is tried again for that one, three times in all, and the others have theirs', async () => {
    const loops = '{% for i in (1..700) %}{% for j in (1..700) %}{{ j }}{% endfor %}{% endfor %}'
    const { id, uuid } = await startCampaign(
      12,
      `<p>Hi</p>{% if contact.email == "person-3@example.com" %}${loops}{% endif %}`,
    )
    await expect(send(uuid)).rejects.toThrow('tried again')
    expect(await readStats(ctx, id)).toMatchObject({ sent: 11, pending: 1, failed: 0 })
    await expect(send(uuid)).rejects.toThrow('tried again')
    await send(uuid)
    expect(await readStats(ctx, id)).toMatchObject({ sent: 11, pending: 0, failed: 1 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
    expect(addressees()).toEqual(people(12).filter((address) => address !== 'person-3@example.com'))
  })

  test('neither stops this worker nor the campaigns of others', async () => {
    const slow = await startCampaign(30, slugs)
    const slowCtx = ctx
    ctx = await createTestCtx(database.db)
    const other = await startCampaign(25, '<p>Hi {{ contact.firstName }}</p>')
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    await Promise.all([sendCampaignBatch(deps, jobOf(slowCtx, slow.uuid)), send(other.uuid)])
    clearInterval(timer)
    expect(turns).toBeGreaterThan(50)
    expect(await readCampaign(ctx, other.id)).toMatchObject({ status: 'SENT' })
    expect(await readStats(ctx, other.id)).toMatchObject({ sent: 25 })
    expect(await readStats(slowCtx, slow.id)).toMatchObject({ pending: 30, interrupted: 0 })
  })
})

/** Says that a login is needed and lets nobody in, or takes the login and no sender. */
async function startRefusingSmtp(refused: 'AUTH' | 'MAIL') {
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        const command = chunk.toString().slice(0, 4).toUpperCase()
        if (command === refused) socket.write(`535 5.7.8 no ${refused} for you\r\n`)
        else if (command === 'EHLO') socket.write('250-hello\r\n250 AUTH PLAIN\r\n')
        else socket.write(command === 'AUTH' ? '235 welcome\r\n' : '250 fine\r\n')
      })
    socket.write('220 hello\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://user:wrong@127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
