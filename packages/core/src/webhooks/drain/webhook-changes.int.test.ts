/** Changes of a webhook while a job drains its workspace. */
import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  getTakenIds,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { webhookHealth, webhooks } from '../../db/schema/index.ts'
import { unseal } from '../../kernel/crypto.ts'
import { uuidOf, type WebhookId } from '../../kernel/ids.ts'
import type { DrainClaim } from './drain-claim.ts'
import { rotateSecret } from '../rotate-secret.ts'
import { updateWebhook } from '../../operations/webhooks/save-webhook.ts'
import { deleteWebhook, disableWebhooks, purgeWebhooks } from '../webhooks.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhookId: WebhookId
let workerId: string
let uuids: string[]
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx)).id
  uuids = await insertDeliveries(ctx, webhookId, { count: 6 })
})

const makeClaim = (limit = 20) => claimTestDrain(ctx, { workerId, limit })
const failBacklog = async () => (await makeClaim()).take
const disable = () => ctx.db.update(webhooks).set({ enabled: false }).where(eq(webhooks.id, webhookId))

/** Counts the deliveries by status and error. */
async function countStatuses(): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ status: string; count: number }>(
    `select concat_ws(' ', status, error) as status, count(*)::int from deliveries where webhook_id = $1 group by 1`,
    [uuidOf(webhookId)],
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

const [wasDisabled, wasDeleted] = ['FAILED The webhook was disabled', 'FAILED The webhook was deleted']

describe('the next take', () => {
  test('of a disabled webhook fails the backlog, except deliveries in flight', async () => {
    const { claim } = await makeClaim(2)
    await disable()
    const [first, second = ''] = uuids
    const next = await recordTestOutcomes(ctx, claim, {
      ended: asEnded([first ?? '']),
      inFlight: [second],
      limit: 20,
    })
    expect(next).toEqual({ deliveries: [], hasMore: false })
    expect(await countStatuses()).toEqual({ SUCCEEDED: 1, PENDING: 1, [wasDisabled]: 4 })
    await recordTestOutcomes(ctx, claim, { ended: asEnded([second]), limit: 20 })
    expect(await countStatuses()).toEqual({ SUCCEEDED: 2, [wasDisabled]: 4 })
    const { rows } = await database.pool.query('select distinct attempted_at from deliveries where error is not null')
    expect(rows).toEqual([{ attempted_at: null }])
  })

  test('of a deleted webhook fails the backlog and keeps earlier outcomes', async () => {
    await disable()
    expect(await failBacklog()).toEqual({ deliveries: [], hasMore: false })
    await updateWebhook(ctx, webhookId, { enabled: true })
    await insertDeliveries(ctx, webhookId, { count: 3 })
    await deleteWebhook(ctx, webhookId)
    await failBacklog()
    expect(await countStatuses()).toEqual({ [wasDisabled]: 6, [wasDeleted]: 3 })
  })

  test('fails at most 500 deliveries', async () => {
    await insertDeliveries(ctx, webhookId, { count: 1_000 })
    await disable()
    expect(await failBacklog()).toMatchObject({ hasMore: true })
    expect(await countStatuses()).toEqual({ PENDING: 506, [wasDisabled]: 500 })
    expect(await failBacklog()).toMatchObject({ hasMore: true })
    expect(await failBacklog()).toMatchObject({ hasMore: false })
    expect(await countStatuses()).toEqual({ [wasDisabled]: 1_006 })
  })

  test('of a webhook that was enabled again takes the remaining deliveries', async () => {
    await disable()
    await updateWebhook(ctx, webhookId, { enabled: true })
    expect(getTakenIds((await makeClaim()).take)).toEqual(uuids)
  })

  test('returns the current url and secrets', async () => {
    const { claim, take } = await makeClaim(1)
    const before = take?.deliveries[0]?.receiver
    expect(before).toMatchObject({ url: 'https://example.com/hook', formerSecrets: [] })
    await updateWebhook(ctx, webhookId, { url: 'https://example.com/new' })
    const { secret } = await rotateSecret(ctx, webhookId)
    const next = await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)), limit: 1 })
    const receiver = next?.deliveries[0]?.receiver
    expect(receiver).toMatchObject({ url: 'https://example.com/new' })
    expect(unseal(ctx.settings.keys, receiver?.encryptedSecret ?? '', webhookId)).toBe(secret)
    expect(receiver?.formerSecrets).toMatchObject([{ encrypted: before?.encryptedSecret }])
  })

  test('waits for a concurrent disabling; the one after it fails the backlog', async () => {
    const { claim } = await makeClaim(1)
    const disabling = await openTransaction(database.db, (db) => disableWebhooks({ ...ctx, db }))
    const taking = recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)), limit: 5 })
    await waitUntilBlocked(database.db)
    await disabling.commit()
    expect(await taking).toEqual({ deliveries: [], hasMore: true })
    expect(await failBacklog()).toEqual({ deliveries: [], hasMore: false })
    expect(await countStatuses()).toEqual({ SUCCEEDED: 1, [wasDisabled]: 5 })
  })

  test('waits for a concurrent change of the url and returns the new url', async () => {
    const changing = await openTransaction(database.db, (db) =>
      updateWebhook({ ...ctx, db }, webhookId, { url: 'https://example.com/new' }),
    )
    const taking = makeClaim(1)
    await waitUntilBlocked(database.db)
    await changing.commit()
    expect((await taking).take).toMatchObject({
      deliveries: [{ uuid: uuids[0], receiver: { url: 'https://example.com/new' } }],
    })
  })
})

describe('disabling and deleting', () => {
  const changes = {
    disabling: () => updateWebhook(ctx, webhookId, { enabled: false }),
    deleting: () => deleteWebhook(ctx, webhookId),
  }

  test.each(['disabling', 'deleting'] as const)('%s waits for a concurrent take', async (name) => {
    const claims: DrainClaim[] = []
    const taking = await openTransaction(database.db, async (db) => {
      claims.push((await claimTestDrain({ ...ctx, db }, { workerId, limit: 1 })).claim)
    })
    const change = changes[name]()
    await waitUntilBlocked(database.db)
    await taking.commit()
    for (const claim of claims) await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)) })
    await change
    expect((await countStatuses())['SUCCEEDED']).toBe(1)
  })
})

test('disabling all webhooks and a step that takes from several do not deadlock', async () => {
  const second = (await createTestWebhook(ctx)).id
  await insertDeliveries(ctx, second, { count: 3 })
  const { claim } = await makeClaim(1)
  // The row of the first webhook is now behind that of the second.
  await updateWebhook(ctx, webhookId, { url: 'https://example.com/new' })
  const [disabling, taking] = [
    disableWebhooks(ctx),
    recordTestOutcomes(ctx, claim, { inFlight: uuids.slice(0, 1), limit: 5 }),
  ]
  await expect(Promise.all([disabling, taking])).resolves.toHaveLength(2)
})

test('rows of a deleted webhook are purged in steps, in-flight deliveries last', async () => {
  const { claim } = await makeClaim(1)
  await deleteWebhook(ctx, webhookId)
  await recordTestOutcomes(ctx, claim, { inFlight: uuids.slice(0, 1), limit: 5 })
  expect(await countStatuses()).toEqual({ PENDING: 1, [wasDeleted]: 5 })
  expect(await purgeWebhooks(ctx.db)).toBe(0)
  await ctx.db.execute(sql`
    update webhooks set deleted_at = now() - interval '2 minutes' where id = ${uuidOf(webhookId)}`)
  expect([await purgeWebhooks(ctx.db), await purgeWebhooks(ctx.db)]).toEqual([5, 0])
  await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)) })
  expect([await purgeWebhooks(ctx.db), await purgeWebhooks(ctx.db), await purgeWebhooks(ctx.db)]).toEqual([1, 1, 0])
  expect(await ctx.db.$count(webhookHealth, eq(webhookHealth.webhookId, webhookId))).toBe(0)
})
