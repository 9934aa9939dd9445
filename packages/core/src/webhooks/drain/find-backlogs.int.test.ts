import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestCtx, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { claimTestDrain, drainTestBacklog } from '@rapport/testing/fixtures/webhook-drain.ts'
import type { Ctx } from '../../request/context.ts'
import { uuidOf, type WorkspaceId } from '../../kernel/ids.ts'
import { resumeWorkspace, suspendWorkspace } from '../../workspaces/suspension.ts'
import { releaseUnacknowledgedDrain } from './drain.ts'
import { findBacklogs } from './find-backlogs.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  await database.pool.query('truncate workspaces cascade')
  ctx = await createTestCtx(database.db)
})

interface BacklogOptions {
  on?: Ctx
  statuses?: string[]
  health?: { pausedForMs?: number; unreachableCount?: number }
}

/** Inserts webhooks with deliveries and, if given, their health. */
async function insertBacklogs(count: number, { on = ctx, statuses = ['PENDING'], health }: BacklogOptions = {}) {
  const workspaceId = uuidOf(on.workspaceId)
  const inserted = await database.pool.query<{ id: string }>(
    `with webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select $1, uuidv7(), 'https://example.com', '{*}', '' from generate_series(1, $2::int) returning id),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type, status)
      select $1, uuidv7(), id, uuidv7(), 'contact.created', status from webhook, unnest($3::text[]) as status)
    select id from webhook`,
    [workspaceId, count, statuses],
  )
  if (!health) return
  const { pausedForMs, unreachableCount = 0 } = health
  const pausedUntil = pausedForMs === undefined ? null : new Date(Date.now() + pausedForMs)
  await database.pool.query(
    `insert into webhook_health (workspace_id, webhook_id, paused_until, unreachable_count)
     select $1, id, $3, $4 from unnest($2::uuid[]) id`,
    [workspaceId, inserted.rows.map(({ id }) => id), pausedUntil, unreachableCount],
  )
}

/** Creates a workspace, or uses `on`, with one webhook that has a backlog. */
async function createBacklog({ on, ...options }: BacklogOptions = {}): Promise<Ctx> {
  const workspace = on ?? (await createTestCtx(database.db))
  await insertBacklogs(1, { ...options, on: workspace })
  return workspace
}

const find = async (after?: WorkspaceId) => (await findBacklogs(database.db, after)).workspaceIds
const disableAll = () => database.db.execute(sql`update webhooks set enabled = false, deleted_at = now()`)
const paused = { pausedForMs: 60_000, unreachableCount: 3 }

describe('a workspace is found', () => {
  test('once, if a webhook has PENDING deliveries', async () => {
    const many = ['PENDING', 'PENDING', 'SUCCEEDED', 'PENDING']
    await insertBacklogs(2, { statuses: many })
    const other = await createBacklog({ statuses: many })
    await createBacklog({ statuses: ['SUCCEEDED', 'FAILED', 'INTERRUPTED'] })
    await createBacklog({ statuses: [] })
    expect(await findBacklogs(database.db)).toEqual({
      workspaceIds: [ctx.workspaceId, other.workspaceId],
      last: undefined,
    })
  })

  test('unless a job has claimed its drain', async () => {
    await createBacklog({ on: ctx, statuses: ['PENDING', 'PENDING'] })
    const other = await createBacklog()
    const workerId = await createTestWorker(database.db)
    const { claim } = await claimTestDrain(ctx, { workerId, limit: 1 })
    expect(await find()).toEqual([other.workspaceId])
    await releaseUnacknowledgedDrain(database.db, claim)
    expect(await find()).toEqual([ctx.workspaceId, other.workspaceId])
    await drainTestBacklog(ctx, { workerId })
    expect(await find()).toEqual([other.workspaceId])
  })

  test('unless all its webhooks with a backlog are paused', async () => {
    await insertBacklogs(3, { health: paused })
    await insertBacklogs(2, { statuses: ['SUCCEEDED'] })
    const partlyPaused = await createBacklog({ health: paused })
    await insertBacklogs(1, { on: partlyPaused })
    const noLongerPaused = await createBacklog({ health: { ...paused, pausedForMs: -1_000 } })
    const unreachable = await createBacklog({ health: { unreachableCount: 2 } })
    const expected = [partlyPaused, noLongerPaused, unreachable].map(({ workspaceId }) => workspaceId)
    expect(await find()).toEqual(expected)
  })

  test('unless it is suspended', async () => {
    await createBacklog({ on: ctx })
    await suspendWorkspace(ctx)
    expect(await find()).toEqual([])
    await resumeWorkspace(ctx)
    expect(await find()).toEqual([ctx.workspaceId])
  })

  test('also if its webhooks were disabled or deleted, so that a job marks it as FAILED', async () => {
    await createBacklog({ on: ctx })
    const other = await createBacklog({ health: paused })
    await disableAll()
    expect(await find()).toEqual([ctx.workspaceId, other.workspaceId])
  })
})

test('the workspaces of 600 deliveries are found in two pages, each once', async () => {
  const workspaceIds: WorkspaceId[] = []
  for (let count = 0; count < 40; count++) {
    const workspace = await createTestCtx(database.db)
    await insertBacklogs(15, { on: workspace })
    workspaceIds.push(workspace.workspaceId)
  }
  const first = await findBacklogs(database.db)
  // The workspace with the 500th delivery is the 34th.
  expect(first).toEqual({ workspaceIds: workspaceIds.slice(0, 34), last: workspaceIds[33] })
  const second = await findBacklogs(database.db, first.last)
  expect(second).toEqual({ workspaceIds: workspaceIds.slice(34), last: undefined })
  expect(await findBacklogs(database.db, workspaceIds.at(-1))).toEqual({ workspaceIds: [], last: undefined })
})

test('a full page without a backlog to claim is followed by the next page', async () => {
  await insertBacklogs(1, { statuses: Array.from({ length: 600 }, () => 'PENDING'), health: paused })
  const other = await createBacklog()
  const first = await findBacklogs(database.db)
  expect(first).toEqual({ workspaceIds: [], last: ctx.workspaceId })
  expect(await findBacklogs(database.db, first.last)).toEqual({ workspaceIds: [other.workspaceId], last: undefined })
})

test('a workspace is found by a webhook that the page does not reach', async () => {
  await insertBacklogs(1, { statuses: Array.from({ length: 600 }, () => 'PENDING'), health: paused })
  await insertBacklogs(1)
  expect(await findBacklogs(database.db)).toEqual({ workspaceIds: [ctx.workspaceId], last: ctx.workspaceId })
})

test('after a page with a large backlog, the next one starts at the next workspace', async () => {
  await insertBacklogs(1, { statuses: Array.from({ length: 1_200 }, () => 'PENDING') })
  await insertBacklogs(2)
  const other = await createBacklog()
  const first = await findBacklogs(database.db)
  expect(first).toEqual({ workspaceIds: [ctx.workspaceId], last: ctx.workspaceId })
  expect(await findBacklogs(database.db, first.last)).toEqual({ workspaceIds: [other.workspaceId], last: undefined })
})
