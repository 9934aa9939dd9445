/** What a step of a drain does for several webhooks at once, and who else may change the claim. */
import { beforeAll, describe, expect, test } from 'vitest'
import {
  countDeliveries,
  createTestContact,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { getTakenIds } from '@rapport/testing/fixtures/webhook-drain.ts'
import { createFailingPeriod, readHealth, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { countTaken, createTestBacklogs, endedOf, limitsOf, limitTo } from '@rapport/testing/fixtures/webhook-limits.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { enqueueMail } from '../../mail/mails.ts'
import { recoverOrphanedClaims } from '../../operations/recovery/recover-claims.ts'
import { clearDeletedWorkspace, deleteWorkspace } from '../../operations/workspaces/delete-workspace.ts'
import { findPublishableWork } from '../../work/publish.ts'
import { readWorkspace } from '../../workspaces/workspaces.ts'
import { type DrainClaim, prepareDrain } from './drain-claim.ts'
import { findBacklogs } from './find-backlogs.ts'
import { claimDrain, recordAndTakeNext, releaseUnacknowledgedDrain, type TakeResult } from './drain.ts'
import type { TakeLimits } from './take-deliveries.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})

const prepare = () => prepareDrain({ workspaceId: ctx.workspaceId, workerId })
async function claimWith(limits: TakeLimits): Promise<{ claim: DrainClaim; take: TakeResult | undefined }> {
  const claim = prepare()
  return { claim, take: await claimDrain(ctx.db, claim, limits) }
}

const failure = { status: 'FAILED', responseStatus: 500, error: 'status 500' } as const
const noResponse = { status: 'FAILED', responseStatus: null, responseBody: null, error: 'connect timeout' } as const

async function readStatuses(uuids: readonly string[]): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string; status: string }>(
    `select id, concat_ws(' ', status, error) as status from deliveries where id = any($1)`,
    [uuids],
  )
  return uuids.map((uuid) => rows.find(({ id }) => id === uuid)?.status ?? 'none')
}

test('one of two concurrent claims of a workspace wins', async () => {
  const backlogs = await createTestBacklogs(ctx, 2, 2)
  const claiming = await openTransaction(database.db, (db) => claimDrain(db, prepare(), limitTo(1)))
  const second = prepare()
  const losing = claimDrain(
    ctx.db,
    second,
    limitTo(
      10,
      backlogs.map((backlog) => limitsOf(backlog)),
    ),
  )
  await waitUntilBlocked(database.db)
  await claiming.commit()
  expect(await losing).toBeUndefined()
  expect(await readDrain(ctx)).toMatchObject({ inFlight: backlogs[0]?.uuids.slice(0, 1) })
  // Without a claim, the job that lost can take nothing.
  expect(await recordAndTakeNext(ctx.db, second, { ended: [], inFlight: [], limits: limitTo(10) })).toBeUndefined()
})

describe('a step', () => {
  test('updates the health of each webhook from its own outcomes', async () => {
    const backlogs = await createTestBacklogs(ctx, 3, 3, 3, 3)
    const [failing, recovered, silent, untouched] = backlogs
    await setHealth(ctx, failing.webhookId, { ...createFailingPeriod(1, 4), unreachableCount: 0 })
    await setHealth(ctx, recovered.webhookId, { ...createFailingPeriod(2, 5), unreachableCount: 1 })
    const before = await readHealth(ctx, failing.webhookId)
    const { claim, take } = await claimWith(
      limitTo(
        12,
        backlogs.map((backlog) => limitsOf(backlog)),
      ),
    )
    expect(countTaken(take, backlogs)).toEqual([3, 1, 3, 3])
    await recordAndTakeNext(ctx.db, claim, {
      ended: [
        ...endedOf(silent, silent.uuids.slice(0, 2), noResponse),
        ...endedOf(failing, failing.uuids.slice(0, 2), failure),
        ...endedOf(recovered, recovered.uuids.slice(0, 1)),
      ],
      inFlight: [...failing.uuids.slice(2), ...silent.uuids.slice(2), ...untouched.uuids],
      limits: limitTo(0),
    })
    expect(await readHealth(ctx, failing.webhookId)).toMatchObject({
      failureCount: 6,
      failingSince: before?.failingSince,
      lastSuccessAt: null,
      unreachableCount: 0,
    })
    expect(await readHealth(ctx, recovered.webhookId)).toMatchObject({
      failureCount: 0,
      failingSince: null,
      lastSuccessAt: expect.any(String) as string,
      unreachableCount: 0,
    })
    expect(await readHealth(ctx, silent.webhookId)).toMatchObject({
      failureCount: 2,
      failingSince: expect.any(String) as string,
      lastSuccessAt: null,
      unreachableCount: 1,
    })
    expect(await readHealth(ctx, untouched.webhookId)).toBeUndefined()
    expect([...claim.receivers].map(([id, { unreachableCount }]) => [id, unreachableCount])).toEqual(
      expect.arrayContaining([
        [failing.webhookId, 0],
        [recovered.webhookId, 0],
        [silent.webhookId, 1],
        [untouched.webhookId, 0],
      ]),
    )
  })

  test('pauses only the webhook whose third round had no response', async () => {
    const backlogs = await createTestBacklogs(ctx, 3, 3)
    const [silent, responding] = backlogs
    await setHealth(ctx, silent.webhookId, { unreachableCount: 2 })
    const known = backlogs.map((backlog) => limitsOf(backlog))
    const { claim, take } = await claimWith(limitTo(2, known))
    expect(countTaken(take, backlogs)).toEqual([1, 1])
    const next = await recordAndTakeNext(
      ctx.db,
      { ...claim, firstPauseMs: 60_000 },
      {
        ended: [
          ...endedOf(silent, silent.uuids.slice(0, 1), noResponse),
          ...endedOf(responding, responding.uuids.slice(0, 1)),
        ],
        inFlight: [],
        limits: limitTo(10, known),
      },
    )
    expect(countTaken(next, backlogs)).toEqual([0, 2])
    expect(Date.parse((await readHealth(ctx, silent.webhookId))?.pausedUntil ?? '')).toBeGreaterThan(Date.now())
    expect(await readHealth(ctx, responding.webhookId)).toMatchObject({ pausedUntil: null, unreachableCount: 0 })
  })

  test('counts only outcomes that were not recorded before', async () => {
    const backlogs = await createTestBacklogs(ctx, 2, 2)
    const [first, second] = backlogs
    const { claim } = await claimWith(
      limitTo(
        4,
        backlogs.map((backlog) => limitsOf(backlog)),
      ),
    )
    const [tokens, receivers] = [claim.tokens, new Map(claim.receivers)]
    const ofFirst = endedOf(first, first.uuids.slice(0, 1), failure)
    const limits = limitTo(0)
    await recordAndTakeNext(ctx.db, claim, {
      ended: ofFirst,
      inFlight: [...first.uuids.slice(1), ...second.uuids],
      limits,
    })
    // The response of that step was lost; the next attempt has more outcomes.
    const retried = { ...claim, tokens: [...tokens, ...claim.tokens], receivers }
    const ofSecond = endedOf(second, second.uuids.slice(0, 1), failure)
    const inFlight = [...first.uuids.slice(1), ...second.uuids.slice(1)]
    await recordAndTakeNext(ctx.db, retried, { ended: [...ofFirst, ...ofSecond], inFlight, limits })
    for (const { webhookId } of backlogs) expect(await readHealth(ctx, webhookId)).toMatchObject({ failureCount: 1 })
  })

  test('whose claim was recovered records its outcomes, but changes no health', async () => {
    const [backlog] = await createTestBacklogs(ctx, 2)
    const { claim } = await claimWith(limitTo(1))
    await releaseUnacknowledgedDrain(ctx.db, claim)
    const step = { ended: endedOf(backlog, backlog.uuids.slice(0, 1), failure), inFlight: [], limits: limitTo(5) }
    expect(await recordAndTakeNext(ctx.db, claim, step)).toBeUndefined()
    expect(await readStatuses(backlog.uuids)).toEqual(['FAILED status 500', 'PENDING'])
    expect(await readHealth(ctx, backlog.webhookId)).toBeUndefined()
  })
})

test('recovery interrupts exactly the deliveries in flight of several webhooks', async () => {
  const crashedId = await createTestWorker(database.db)
  const backlogs = await createTestBacklogs(ctx, 4, 4, 4)
  const [first, second, third] = backlogs
  const claim = prepareDrain({ workspaceId: ctx.workspaceId, workerId: crashedId })
  await claimDrain(ctx.db, claim, limitTo(4, [limitsOf(first), limitsOf(second)]))
  expect((await readDrain(ctx))?.inFlight).toHaveLength(4)
  const step = {
    ended: endedOf(first, first.uuids.slice(0, 1)),
    inFlight: [...first.uuids.slice(1, 2), ...second.uuids.slice(0, 1), ...third.uuids.slice(0, 1)],
    limits: limitTo(1, [limitsOf(first, { inFlight: 1 }), limitsOf(second, { inFlight: 1 })]),
  }
  const next = await recordAndTakeNext(ctx.db, claim, step)
  expect(getTakenIds(next)).toHaveLength(1)
  await expireWorkerHeartbeat(ctx.db, crashedId)
  expect(await recoverOrphanedClaims(ctx.db)).toMatchObject({ deliveries: 4, errors: [] })
  const inFlight = new Set([...step.inFlight, ...(getTakenIds(next) ?? [])])
  const { rows } = await database.pool.query<{ id: string; status: string; worker_id: string | null }>(
    'select id, status, worker_id from deliveries where workspace_id = $1',
    [uuidOf(ctx.workspaceId)],
  )
  const interrupted = rows.filter(({ status }) => status === 'INTERRUPTED')
  expect(new Set(interrupted.map(({ id }) => id))).toEqual(inFlight)
  expect(new Set(interrupted.map(({ worker_id }) => worker_id))).toEqual(new Set([crashedId]))
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, INTERRUPTED: 4, PENDING: 7 })
  expect(await readDrain(ctx)).toBeUndefined()
})

test('nothing more is taken of a deleted workspace, and its drain cannot be claimed', async () => {
  const [backlog] = await createTestBacklogs(ctx, 3)
  const { claim, take } = await claimWith(limitTo(1))
  await deleteWorkspace(ctx, await readWorkspace(ctx))
  const step = { ended: endedOf(backlog, getTakenIds(take) ?? []), inFlight: [], limits: limitTo(5) }
  expect(await recordAndTakeNext(ctx.db, claim, step)).toEqual({ deliveries: [], hasMore: false })
  expect((await findBacklogs(ctx.db)).workspaceIds).not.toContain(ctx.workspaceId)
  expect((await claimWith(limitTo(1))).take).toBeUndefined()
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, PENDING: 2 })
})

test('clearing a deleted workspace keeps the claim of a drain in flight', async () => {
  await createTestWebhook(ctx)
  for (let count = 0; count < 3; count++) await createTestContact(ctx)
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'ada@example.com', data: {} })
  const { claim, take } = await claimWith(limitTo(1))
  expect(take?.deliveries).toHaveLength(1)
  await deleteWorkspace(ctx, await readWorkspace(ctx))
  const readWork = async () => {
    const query = 'select kind from work where workspace_id = $1 order by kind'
    return (await database.pool.query<{ kind: string }>(query, [uuidOf(ctx.workspaceId)])).rows.map(({ kind }) => kind)
  }
  expect(await readWork()).toEqual(['CLEAR_WORKSPACE', 'DRAIN', 'MAIL'])
  const published = (await findPublishableWork(ctx.db)).filter(({ workspaceId }) => workspaceId === ctx.workspaceId)
  expect(published.map(({ kind }) => kind)).toEqual(['CLEAR_WORKSPACE'])
  expect(await clearDeletedWorkspace(ctx, uuidOf(ctx.workspaceId))).toBe(true)
  expect(await readWork()).toEqual(['CLEAR_WORKSPACE', 'DRAIN'])
  expect(await readDrain(ctx)).toMatchObject({ token: claim.tokens[0], inFlight: getTakenIds(take) })
  while (await clearDeletedWorkspace(ctx, uuidOf(ctx.workspaceId)));
  expect(await readWork()).toEqual([])
})
