import { eq, sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../request/context.ts'
import { uuidOf } from '../kernel/ids.ts'
import { mails } from '../db/schema/index.ts'
import {
  createTestCtx,
  createTestWorker,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { claimTestMail, prepareTestClaim } from '@rapport/testing/fixtures/claims.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import {
  claimMail,
  enqueueMail,
  type ClaimedMail,
  type MailKind,
  type MailOutcome,
  purgeMails,
  recordMailOutcome,
} from './mails.ts'
import { hashProviderMessageId } from './providers/provider-message-id.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'
import { releaseClaim, releaseUnacknowledged } from '../work/claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})

const kinds = ['CONFIRMATION', 'CAMPAIGN_TEST'] as const
const sent: MailOutcome = { kind: 'sent', providerMessageId: 'queued-1' }
const busy: MailOutcome = { kind: 'refused', temporary: true, error: '450 busy' }
const unknown: MailOutcome = { kind: 'refused', temporary: false, error: '550 no such user' }
const cutOff: MailOutcome = { kind: 'ambiguous', error: 'the connection closed' }

async function enqueueOne(kind: MailKind = 'CONFIRMATION'): Promise<string> {
  await enqueueMail(ctx, { kind, to: 'ada@example.com', data: {} })
  const [uuid] = await listPendingWork(ctx)
  return uuid ?? ''
}

async function claim(uuid: string, by = workerId): Promise<ClaimedMail> {
  const mail = await claimTestMail(ctx, uuid, by)
  if (!mail) throw new Error('The mail could not be claimed')
  return mail
}

async function read() {
  const [mail] = await ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  return mail
}

test('a mail that is enqueued in a rolled-back transaction is never sent', async () => {
  const rolledBack = inTransaction(ctx, async (ctx) => {
    await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'ada@example.com', data: {} })
    throw new Error('changed my mind')
  })
  await expect(rolledBack).rejects.toThrow('changed my mind')
  expect(await read()).toBeUndefined()
  expect(await listPendingWork(ctx)).toEqual([])
})

test.each(kinds)('a %s is claimed by one of 100 concurrent calls', async (kind) => {
  const uuid = await enqueueOne(kind)
  const claims = await Promise.all(Array.from({ length: 100 }, () => claimTestMail(ctx, uuid, workerId)))
  expect(claims.filter(Boolean)).toHaveLength(1)
  expect(await read()).toMatchObject({ status: 'PENDING', attempts: 0, token: claims.find(Boolean)?.token })
})

test('a mail of another workspace cannot be claimed', async () => {
  const uuid = await enqueueOne()
  expect(await claimTestMail(await createTestCtx(database.db), uuid, workerId)).toBeUndefined()
})

test.each(kinds)('a %s that was sent is SENT, with the id of the server, and has no job', async (kind) => {
  const uuid = await enqueueOne(kind)
  expect(await recordMailOutcome(ctx, await claim(uuid), sent)).toBe('done')
  expect(await read()).toMatchObject({
    status: 'SENT',
    error: null,
    providerMessageHash: hashProviderMessageId('queued-1'),
    endedAt: expect.any(String),
  })
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await claimTestMail(ctx, uuid, workerId)).toBeUndefined()
})

test.each(kinds)('a permanently refused %s is FAILED, with the error of the server', async (kind) => {
  expect(await recordMailOutcome(ctx, await claim(await enqueueOne(kind)), unknown)).toBe('done')
  expect(await read()).toMatchObject({ status: 'FAILED', error: '550 no such user', endedAt: expect.any(String) })
  expect(await listPendingWork(ctx)).toEqual([])
})

test.each([
  ['CONFIRMATION', busy, 'FAILED'],
  ['CONFIRMATION', cutOff, 'INTERRUPTED'],
  ['CAMPAIGN_TEST', busy, 'FAILED'],
] as const)('a %s has at most three attempts', async (kind, outcome, end) => {
  const uuid = await enqueueOne(kind)
  for (const attempt of [1, 2]) {
    expect(await recordMailOutcome(ctx, await claim(uuid), outcome)).toBe('retry')
    expect(await read()).toMatchObject({ status: 'PENDING', attempts: attempt, error: outcome.error, endedAt: null })
    expect(await listPendingWork(ctx)).toEqual([uuid])
  }
  expect(await recordMailOutcome(ctx, await claim(uuid), outcome)).toBe('done')
  expect(await read()).toMatchObject({ status: end, attempts: 3, error: outcome.error })
  expect(await listPendingWork(ctx)).toEqual([])
})

test('a test mail with an ambiguous outcome is INTERRUPTED and not sent again', async () => {
  const uuid = await enqueueOne('CAMPAIGN_TEST')
  expect(await recordMailOutcome(ctx, await claim(uuid), cutOff)).toBe('done')
  expect(await read()).toMatchObject({ status: 'INTERRUPTED', error: 'the connection closed' })
  expect(await claimTestMail(ctx, uuid, workerId)).toBeUndefined()
})

test('recording an outcome again after a lost response is a no-op', async () => {
  const mail = await claim(await enqueueOne())
  expect(await recordMailOutcome(ctx, mail, busy)).toBe('retry')
  expect(await recordMailOutcome(ctx, mail, busy)).toBe('retry')
  expect(await read()).toMatchObject({ status: 'PENDING', attempts: 1 })
  const again = await claim(uuidOf(mail.id))
  expect(await recordMailOutcome(ctx, again, sent)).toBe('done')
  expect(await recordMailOutcome(ctx, again, sent)).toBe('done')
  expect(await read()).toMatchObject({ status: 'SENT', attempts: 2 })
})

test('a release that arrives late does not release a later claim of the same worker', async () => {
  const uuid = await enqueueOne()
  const lost = await claim(uuid)
  await releaseClaim(ctx, lost.claim, 'retry')
  const later = await claim(uuid)
  expect(later.attempts, 'a lost claim is no attempt').toBe(1)
  await releaseClaim(ctx, lost.claim, 'retry')
  expect(await claimTestMail(ctx, uuid, workerId)).toBeUndefined()
  expect(await recordMailOutcome(ctx, later, sent)).toBe('done')
})

test('a claim that is still committing when its response is lost is released', async () => {
  const uuid = await enqueueOne('CAMPAIGN_TEST')
  const lost = await prepareTestClaim(ctx, uuid, workerId)
  const claiming = await openTransaction(database.db, (db) => claimMail({ ...ctx, db }, lost))
  const releasing = releaseUnacknowledged(ctx, lost)
  await waitUntilBlocked(database.db)
  await claiming.commit()
  await releasing
  expect(await claimTestMail(ctx, uuid, workerId)).toMatchObject({ attempts: 1 })
})

/** Claims the mail for a worker whose heartbeat expires. Recovery then releases the claim. Returns the claimed mail. */
async function claimAndExpire(uuid: string): Promise<ClaimedMail> {
  const frozen = await createTestWorker(database.db)
  const mail = await claim(uuid, frozen)
  await expireWorkerHeartbeat(database.db, frozen)
  await recoverOrphanedClaims(database.db)
  return mail
}

test('a mail is not sent again if its worker records SENT after recovery', async () => {
  const uuid = await enqueueOne()
  const mail = await claimAndExpire(uuid)
  expect(await read()).toMatchObject({ status: 'PENDING' })
  await recordMailOutcome(ctx, mail, sent)
  expect(await read()).toMatchObject({ status: 'SENT', error: null })
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await claimTestMail(ctx, uuid, workerId)).toBeUndefined()
})

test('a late SENT overwrites INTERRUPTED of a test mail', async () => {
  const mail = await claimAndExpire(await enqueueOne('CAMPAIGN_TEST'))
  expect(await read()).toMatchObject({ status: 'INTERRUPTED', endedAt: expect.any(String) })
  await recordMailOutcome(ctx, mail, sent)
  expect(await read()).toMatchObject({ status: 'SENT' })
})

test('a late temporary refusal of an INTERRUPTED test mail is recorded as FAILED', async () => {
  const mail = await claimAndExpire(await enqueueOne('CAMPAIGN_TEST'))
  expect(await recordMailOutcome(ctx, mail, busy)).toBe('done')
  expect(await read()).toMatchObject({ status: 'FAILED', error: '450 busy', endedAt: expect.any(String) })
})

test('a mail whose worker crashes three times is INTERRUPTED', async () => {
  const uuid = await enqueueOne()
  for (const attempt of [1, 2]) {
    await claimAndExpire(uuid)
    expect(await read()).toMatchObject({ status: 'PENDING', attempts: attempt })
    expect(await listPendingWork(ctx)).toEqual([uuid])
  }
  await claimAndExpire(uuid)
  expect(await read()).toMatchObject({ status: 'INTERRUPTED', attempts: 3, endedAt: expect.any(String) })
  expect(await listPendingWork(ctx)).toEqual([])
})

test('a late outcome does not change a mail that another worker has claimed', async () => {
  const uuid = await enqueueOne()
  const mail = await claimAndExpire(uuid)
  const second = await createTestWorker(database.db)
  const { token } = await claim(uuid, second)
  await recordMailOutcome(ctx, mail, sent)
  expect(await read()).toMatchObject({ status: 'PENDING', token })
  expect(await listPendingWork(ctx)).toEqual([uuid])
  await expireWorkerHeartbeat(database.db, second)
  await recoverOrphanedClaims(database.db)
  expect(await recordMailOutcome(ctx, await claim(uuid), sent)).toBe('done')
  expect(await listPendingWork(ctx)).toEqual([])
})

test('mails are deleted 30 days after their outcome; PENDING mails are kept', async () => {
  for (const outcome of [sent, busy]) {
    const mail = await claim(await enqueueOne())
    await recordMailOutcome(ctx, mail, outcome)
  }
  const young = sql`update mails set created_at = now() - interval '31 days'`
  await database.db.execute(young)
  expect(await purgeMails(database.db)).toBe(0)
  await database.db.execute(sql`update mails set ended_at = now() - interval '31 days' where status = 'SENT'
    and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(await purgeMails(database.db)).toBe(1)
  expect(await read()).toMatchObject({ status: 'PENDING' })
})
