/** All jobs at once, in the hands of three workers that are cut off, taken for dead and wake up again, at random. */
import { setTimeout as pause } from 'node:timers/promises'
import { readCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { enqueueMail } from '@rapport/core/mail/mails.ts'
import type { QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWebhook,
  listEventTypes,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { addBacklog } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import {
  type HttpReceiver,
  type SmtpDecision,
  type SmtpReceiver,
  startHttpReceiver,
  startSmtpReceiver,
} from '@rapport/testing/network/receivers.ts'
import { recordHeartbeat } from '@rapport/core/jobs/worker-registry.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDeps, dropLostClaims, jobOf } from '../testing.ts'
import type { WorkerDeps } from '../worker-deps.ts'
import { drainWebhook } from './drain-webhook.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'
import { clearCustomField } from './clear-custom-field.ts'
import { runImport } from './run-import.ts'
import { sendMail } from './send-mail.ts'
import { recoverOrphanedClaims, findClaims } from '@rapport/core/operations/orphaned-claims.ts'

let database: TestDatabase
let smtp: SmtpReceiver
let http: HttpReceiver
beforeAll(async () => {
  ;[database, smtp, http] = await Promise.all([createTestDatabase(), startSmtpReceiver(), startHttpReceiver()])
})
afterAll(async () => {
  await Promise.all([smtp.close(), http.close()])
  await database.close()
})

type Random = () => number

/** From 0 to 1; the same numbers for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}
const pick = <Item>(items: readonly Item[], random: Random) => items[Math.floor(random() * items.length)] as Item

const handlers = {
  webhooks: (deps: WorkerDeps, job: WorkJob) => drainWebhook(deps, job, () => {}),
  campaigns: sendCampaignBatch,
  mail: sendMail,
  imports: runImport,
  maintenance: clearCustomField,
}
const statements = [
  [
    /claim a backlog/,
    /take deliveries/,
    /record outcomes/,
    /set status = 'PENDING'/,
    /update "mails"/,
    /begin/,
    /commit/,
  ],
  [/update "campaign_batches"/, /claim recipients/, /record recipient outcomes/, /update "campaigns"/],
  [/delete from "outbox"/, /update "outbox"/, /emit events/],
].flat()
const audience = 70
const smtpDecisions: SmtpDecision[] = [
  ...Array.from({ length: 16 }, () => ({ delayMs: 5 })),
  450,
  450,
  550,
  'disconnect after data',
]

/** Answers the path that the webhook's requests have. */
async function createWork(ctx: Ctx, seed: number) {
  const campaign = await createTestCampaign(ctx, { confirmed: audience })
  await sendCampaign(ctx, campaign.id)
  const list = await createTestList(ctx)
  for (let n = 0; n < 8; n++) {
    await subscribe(ctx, list.id, { email: `confirm-${n}@example.com`, firstName: '', lastName: '' })
    await enqueueMail(ctx, {
      kind: 'CAMPAIGN_TEST',
      to: `copy-${n}@example.com`,
      data: { campaignId: campaign.id, contactId: null },
    })
  }
  const webhook = await createTestWebhook(ctx, { url: `${http.url}/${seed}` })
  for (let n = 0; n < 30; n++) await createTestContact(ctx)
  await addBacklog(ctx, webhook.id, 300)
  return campaign.id
}

async function startShakyWorker() {
  const proxy = await startTestProxy(database.url)
  const shaky = openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} })
  const deps = await createTestDeps(shaky.db, { smtpUrl: smtp.url })
  const close = async () => {
    await deps.close()
    await shaky.close()
    await proxy.close()
  }
  return { proxy, deps, close }
}
type ShakyWorker = Awaited<ReturnType<typeof startShakyWorker>>

async function readWork(ctx: Ctx) {
  const found = await database.pool.query<{ id: string; queue: QueueName }>(
    `select id, queue from outbox where workspace_id = $1
     union all
     select distinct webhook_id, 'webhooks' from deliveries where workspace_id = $1 and status = 'PENDING'`,
    [uuidOf(ctx.workspaceId)],
  )
  return found.rows
}

async function harm({ proxy, deps }: ShakyWorker, random: Random) {
  const kind = random()
  if (kind < 0.5) return proxy.cut(pick(statements, random), random() < 0.5 ? 'before' : 'answer', 1)
  if (kind < 0.6) return proxy.cutAll()
  if (kind < 0.75) return recordHeartbeat(database.db, deps.workerId)
  await expireWorkerHeartbeat(database.db, deps.workerId)
  return recoverOrphanedClaims(database.db)
}

/** Takes whatever work there is, again and again, until none is left. */
async function workOn(ctx: Ctx, { deps }: ShakyWorker, random: Random) {
  for (let work = await readWork(ctx); work.length > 0; work = await readWork(ctx)) {
    const { id, queue } = pick(work, random)
    await handlers[queue](deps, jobOf(ctx, id)).catch(() => {})
    await dropLostClaims(deps).catch(() => {})
  }
}

const twice = (items: string[]) => items.filter((item, at) => items.indexOf(item) !== at)

async function countStatuses(ctx: Ctx, table: 'deliveries' | 'mails') {
  const found = await database.pool.query<{ status: string; attempts: number }>(
    `select status, ${table === 'mails' ? 'attempts' : '1 as attempts'} from ${table} where workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  return found.rows
}

test.each([1, 2, 3])('nothing is lost or done twice, whatever happens (seed %d)', { timeout: 60_000 }, async (seed) => {
  const random = randomFrom(seed * 7_919)
  const ctx = await createTestCtx(database.db)
  const campaignId = await createWork(ctx, seed)
  const before = smtp.mails.length
  smtp.decide(() => pick(smtpDecisions, random))
  http.respondWith(() => pick([{}, { delayMs: 10 }, { delayMs: 20 }, { status: 500 }, { fault: 'disconnect' }], random))

  const workers = await Promise.all([startShakyWorker(), startShakyWorker(), startShakyWorker()])
  const working = Promise.all(workers.flatMap((worker) => [1, 2, 3].map(() => workOn(ctx, worker, random))))
  const ended = working.then(() => true)
  for (let faults = 0; faults < 60; faults++) {
    await harm(pick(workers, random), random)
    if (await Promise.race([ended, pause(5 + random() * 20, false)])) break
  }
  for (const worker of workers) worker.proxy.cut(undefined)
  await working
  for (const worker of workers) await worker.close()

  for (const { deps } of workers) expect(await findClaims(database.db, deps.workerId)).toEqual([])
  const requests = http.requests.filter(({ url }) => url === `/${seed}`)
  expect(twice(requests.map(({ headers }) => String(headers['webhook-id'])))).toEqual([])
  // A confirmation may come twice rather than not at all.
  const addressees = smtp.mails.slice(before).flatMap(({ to }) => to)
  expect(twice(addressees.filter((address) => !address.startsWith('confirm-')))).toEqual([])

  const ends = [await countStatuses(ctx, 'deliveries'), await countStatuses(ctx, 'mails')].flat()
  expect(ends.filter(({ status, attempts }) => /PENDING|SENDING/.test(status) || attempts > 3)).toEqual([])
  const { SENT = 0, FAILED = 0, INTERRUPTED = 0, ...others } = await countRecipients(ctx, campaignId)
  expect([SENT + FAILED + INTERRUPTED, others]).toEqual([audience, {}])
  expect(await readCampaign(ctx, campaignId)).toMatchObject({ status: 'SENT', queued: audience })
  expect((await listEventTypes(ctx)).filter((type) => type.startsWith('campaign.'))).toEqual([
    'campaign.sending',
    'campaign.sent',
  ])
  const mailed = addressees.filter((address) => address.startsWith('person-')).length
  expect(mailed).toBeGreaterThanOrEqual(SENT)
  expect(mailed).toBeLessThanOrEqual(SENT + INTERRUPTED)
})
