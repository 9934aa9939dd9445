/** Three workers run all kinds of jobs while random faults hit them: lost connections and expired heartbeats. */
import { setTimeout as pause } from 'node:timers/promises'
import { readCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { enqueueMail } from '@rapport/core/mail/mails.ts'
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
import { chooseSeed, countRuns, createRandom, type Random } from '@rapport/testing/runs.ts'
import {
  type HttpReceiver,
  type SmtpDecision,
  type SmtpReceiver,
  startHttpReceiver,
  startSmtpReceiver,
} from '@rapport/testing/network/receivers.ts'
import { recordHeartbeat } from '@rapport/core/work/worker-registry.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDeps, drain, jobOf } from '../../test/fixtures.ts'
import { recoverUnknownClaims } from '../process/heartbeat.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'
import { sendMail } from './send-mail.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { findClaims } from '@rapport/testing/fixtures/claims.ts'
import type { WorkKind } from '@rapport/core/work/kinds.ts'
import { drainId } from '@rapport/core/work/queues.ts'

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

const seeds = new Set(Array.from({ length: countRuns({ gate: 1, full: 20 }) }, (_, index) => chooseSeed(index + 1)))
const pick = <Item>(items: readonly Item[], random: Random) => items[Math.floor(random() * items.length)] as Item

function runJob(deps: WorkerDeps, ctx: Ctx, { id, kind }: OpenWork): Promise<unknown> {
  if (kind === 'DRAIN') return drain(deps, ctx)
  return (kind === 'CAMPAIGN_BATCH' ? sendCampaignBatch : sendMail)(deps, jobOf(ctx, kind, id))
}
const statements = [
  [
    /claim a drain/,
    /update the health of webhooks/,
    /take deliveries/,
    /record outcomes/,
    /select .* from "mails" .* for update/,
    /update "mails"/,
    /begin/,
    /commit/,
  ],
  [/update "campaign_batches"/, /claim recipients/, /record recipient outcomes/, /update "campaigns"/],
  [/delete from "work"/, /update "work"/, /select .* from "work" .* for update/, /emit events/],
].flat()
const recipientCount = 70
const smtpDecisions: SmtpDecision[] = [
  ...Array.from({ length: 16 }, () => ({ delayMs: 5 })),
  450,
  450,
  550,
  'disconnect after data',
]

/** Creates work for every queue. The webhook's requests go to `/<seed>`. Returns the campaign's id. */
async function createWork(ctx: Ctx, seed: number) {
  const campaign = await createTestCampaign(ctx, { confirmed: recipientCount })
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

async function startUnreliableWorker() {
  const proxy = await startTestProxy(database.url)
  const unreliable = openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} })
  const deps = await createTestDeps(unreliable.db, { smtpUrl: smtp.url })
  const close = async () => {
    await deps.close()
    await unreliable.close()
    await proxy.close()
  }
  return { proxy, deps, close }
}
type UnreliableWorker = Awaited<ReturnType<typeof startUnreliableWorker>>

/** `kind` is null for the backlog of a webhook. */
interface OpenWork {
  id: string
  kind: WorkKind
}

async function readWork(ctx: Ctx) {
  const found = await database.pool.query<OpenWork>(
    `select id, kind from work where workspace_id = $1 union
     select $2::uuid, 'DRAIN' from deliveries where workspace_id = $1 and status = 'PENDING'`,
    [uuidOf(ctx.workspaceId), drainId],
  )
  return found.rows
}

async function injectFault({ proxy, deps }: UnreliableWorker, random: Random) {
  const kind = random()
  if (kind < 0.5) return proxy.cut(pick(statements, random), random() < 0.5 ? 'before' : 'response', 1)
  if (kind < 0.6) return proxy.cutAll()
  if (kind < 0.75) return recordHeartbeat(database.db, deps.workerId)
  await expireWorkerHeartbeat(database.db, deps.workerId)
  return recoverOrphanedClaims(database.db)
}

/** Runs jobs until no work is left. */
async function runAllWork(ctx: Ctx, { deps }: UnreliableWorker, random: Random) {
  for (let work = await readWork(ctx); work.length > 0; work = await readWork(ctx)) {
    await runJob(deps, ctx, pick(work, random)).catch(() => {})
    await recoverUnknownClaims(deps).catch(() => {})
  }
}

const findDuplicates = (items: string[]) => items.filter((item, index) => items.indexOf(item) !== index)

async function countStatuses(ctx: Ctx, table: 'deliveries' | 'mails') {
  const found = await database.pool.query<{ status: string; attempts: number }>(
    `select status, ${table === 'mails' ? 'attempts' : '1 as attempts'} from ${table} where workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  return found.rows
}

test.each([...seeds])('no work is lost or done twice under random faults (seed %d)', async (seed) => {
  // The others have their own numbers, so that the schedule of the faults does not depend on their speed.
  const createOwnRandom = (other: number) => createRandom(seed * 7_919 + other)
  const [random, receiverRandom] = [createOwnRandom(0), createOwnRandom(1)]
  const ctx = await createTestCtx(database.db)
  const campaignId = await createWork(ctx, seed)
  const before = smtp.mails.length
  smtp.decide(() => pick(smtpDecisions, receiverRandom))
  http.respondWith(() =>
    pick([{}, { delayMs: 10 }, { delayMs: 20 }, { status: 500 }, { fault: 'disconnect' }], receiverRandom),
  )

  const workers = await Promise.all([startUnreliableWorker(), startUnreliableWorker(), startUnreliableWorker()])
  const jobs = workers.flatMap((worker) => [worker, worker, worker])
  const working = Promise.all(jobs.map((worker, index) => runAllWork(ctx, worker, createOwnRandom(2 + index))))
  const ended = working.then(() => true)
  for (let faults = 0; faults < 60; faults++) {
    await injectFault(pick(workers, random), random)
    if (await Promise.race([ended, pause(5 + random() * 20, false)])) break
  }
  for (const worker of workers) worker.proxy.cut(undefined)
  await working
  for (const worker of workers) await worker.close()

  for (const { deps } of workers) expect(await findClaims(database.db, deps.workerId)).toEqual([])
  const requests = http.requests.filter(({ url }) => url === `/${seed}`)
  expect(findDuplicates(requests.map(({ headers }) => String(headers['webhook-id'])))).toEqual([])
  // A confirmation mail is retried after an unknown outcome, so it may arrive twice.
  const addressees = smtp.mails.slice(before).flatMap(({ to }) => to)
  expect(findDuplicates(addressees.filter((address) => !address.startsWith('confirm-')))).toEqual([])

  const ends = [await countStatuses(ctx, 'deliveries'), await countStatuses(ctx, 'mails')].flat()
  expect(ends.filter(({ status, attempts }) => /PENDING|SENDING/.test(status) || attempts > 3)).toEqual([])
  const { SENT = 0, FAILED = 0, INTERRUPTED = 0, ...others } = await countRecipients(ctx, campaignId)
  expect([SENT + FAILED + INTERRUPTED, others]).toEqual([recipientCount, {}])
  expect(await readCampaign(ctx, campaignId)).toMatchObject({ status: 'SENT', queued: recipientCount })
  expect((await listEventTypes(ctx)).filter((type) => type.startsWith('campaign.'))).toEqual([
    'campaign.sending',
    'campaign.sent',
  ])
  const mailed = addressees.filter((address) => address.startsWith('person-')).length
  expect(mailed).toBeGreaterThanOrEqual(SENT)
  expect(mailed).toBeLessThanOrEqual(SENT + INTERRUPTED)
})
