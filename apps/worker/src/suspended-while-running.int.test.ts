/** A workspace is suspended while its import, its campaign and its deliveries run. */
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { readImport } from '@rapport/core/imports/imports.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { resumeWorkspace, suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import {
  countDeliveries,
  countRecipients,
  createTestCampaign,
  createTestCtx,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { queueTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../test/fixtures.ts'
import { startWorker } from './worker.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const http = useForFile(() => startHttpReceiver(() => ({ delayMs: 200 })))
const otherHttp = useForFile(() => startHttpReceiver())
/** Holds the first mails, so that the campaign does not end before the suspension. */
const smtp = useForFile(() => startSmtpReceiver({ decide: () => ({ delayMs: 1_000 }) }))

const until = (describe: string, isSo: () => Promise<boolean>) => waitUntil(isSo, { describe, timeoutMs: 60_000 })
/** The import and the deliveries take about two seconds each. */
const size = { rows: 9_000, recipients: 100, deliveries: 100 }

/** Queues an import, a campaign and deliveries. */
async function queueWork(
  ctx: Ctx,
  { name, url, rows, recipients, deliveries }: typeof size & Record<'name' | 'url', string>,
) {
  await createTestWebhook(ctx, { url, eventTypes: ['contact.created'] })
  const campaign = await createTestCampaign(ctx, { subject: name, confirmed: recipients })
  await sendCampaign(ctx, campaign.id)
  const file = Array.from({ length: rows }, (_, n) => `${name}${n}@example.com\n`)
  const imported = await queueTestImport(ctx, ['email\n', ...file])
  for (let n = 0; n < deliveries; n += 1) await createContact(ctx, { email: `${n}@${name}.example.com` })
  const readStatus = async () => ({
    import: (await readImport(ctx, imported.id)).status,
    created: (await readImport(ctx, imported.id)).created,
    recipients: await countRecipients(ctx, campaign.id),
    mails: smtp.mails.filter(({ subject }) => subject === name).length,
    deliveries: await countDeliveries(ctx),
  })
  async function hasEnded() {
    const status = await readStatus()
    const isSent = status.recipients['SENT'] === recipients
    return status.import === 'COMPLETED' && isSent && status.deliveries['PENDING'] === undefined
  }
  return { readStatus, hasEnded }
}

/** Counts the claims of workers in the workspace. */
async function countClaims({ workspaceId }: Ctx): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int as count from work where workspace_id = $1 and token is not null',
    [uuidOf(workspaceId)],
  )
  return rows[0]?.count ?? 0
}

test('running work stops within a step, and is done exactly once after the resumption', async () => {
  const { readStatus, hasEnded } = await queueWork(ctx, { name: 'suspended', url: http.url, ...size })
  const config = { DATABASE_URL: database.url, SMTP_URL: smtp.url, MAIL_RATE: '50' }
  const worker = await startWorker(testWorkerConfig(config), silentLog, { timings: shortTimings })
  onTestFinished(() => worker.close())
  await until('everything runs', async () => {
    const { created, mails, deliveries } = await readStatus()
    return created > 0 && mails > 0 && (deliveries['SUCCEEDED'] ?? 0) > 0
  })

  await suspendWorkspace(ctx)
  const { created } = await readStatus()
  await until('no worker claims anything', async () => (await countClaims(ctx)) === 0)
  const before = await readStatus()
  // The chunk that was being written, and the next one, which may have been checked before.
  expect(before.created).toBeLessThanOrEqual(Math.min(created + 2_000, size.rows - 1))
  expect(before.mails).toBeLessThan(size.recipients)
  const requests = http.requests.length
  smtp.decide(() => 'accept')
  // Meanwhile, the same kinds of work of another workspace run to their end.
  const other = await createTestCtx(database.db)
  const small = { rows: 1_500, recipients: 20, deliveries: 20 }
  const otherWork = await queueWork(other, { name: 'other', url: otherHttp.url, ...small })
  await until('the work of the other workspace is done', otherWork.hasEnded)
  expect(await readStatus()).toEqual(before)
  expect(before).toMatchObject({ import: 'RUNNING', recipients: { SENT: before.mails } })
  expect(http.requests).toHaveLength(requests)

  await resumeWorkspace(ctx)
  await until('the work is done', hasEnded)
  expect(await readStatus()).toEqual({
    import: 'COMPLETED',
    created: size.rows,
    recipients: { SENT: size.recipients },
    mails: size.recipients,
    deliveries: { SUCCEEDED: size.deliveries },
  })
  expect(new Set(http.requests.map(({ headers }) => headers['webhook-id']))).toHaveProperty('size', size.deliveries)
  expect(http.requests).toHaveLength(size.deliveries)
  const recipients = smtp.mails.filter(({ subject }) => subject === 'suspended').flatMap(({ to }) => to)
  expect(new Set(recipients)).toHaveProperty('size', size.recipients)
})
