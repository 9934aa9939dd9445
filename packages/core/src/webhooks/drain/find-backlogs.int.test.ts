import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { Ctx } from '../../request/context.ts'
import { uuidOf, type WorkspaceId } from '../../kernel/ids.ts'
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
  drain?: { isClaimed?: boolean; pausedForMs?: number; unreachableCount?: number; takenBeforeMs?: number }
}

/** Inserts webhooks with deliveries and, if given, a row of `webhook_drains` each. Returns their UUIDs in order. */
async function insertBacklogs(count: number, { on = ctx, statuses = ['PENDING'], drain }: BacklogOptions = {}) {
  const workspaceId = uuidOf(on.workspaceId)
  const inserted = await database.pool.query<{ id: string }>(
    `with webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select $1, uuidv7(), 'https://example.com', '{*}', '' from generate_series(1, $2::int) returning id),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type, status)
      select $1, uuidv7(), id, uuidv7(), 'contact.created', status from webhook, unnest($3::text[]) as status)
    select id from webhook order by id`,
    [workspaceId, count, statuses],
  )
  const uuids = inserted.rows.map(({ id }) => id)
  if (drain) {
    const { isClaimed = false, pausedForMs = null, unreachableCount = 0, takenBeforeMs = null } = drain
    const claimedBy = isClaimed ? randomUUID() : null
    const inMs = (ms: number | null) => (ms === null ? null : new Date(Date.now() + ms))
    const takenAt = inMs(takenBeforeMs === null ? null : -takenBeforeMs)
    await database.pool.query(
      `insert into webhook_drains (workspace_id, webhook_id, worker_id, token, paused_until, unreachable_count, taken_at)
       select $1, id, $3, $3, $4, $5, $6 from unnest($2::uuid[]) id`,
      [workspaceId, uuids, claimedBy, inMs(pausedForMs), unreachableCount, takenAt],
    )
  }
  return uuids
}

const find = async (after?: WorkspaceId) => {
  const { backlogs, last } = await findBacklogs(database.db, after)
  return { found: backlogs.map(({ webhookId }) => uuidOf(webhookId)), last }
}

describe('a backlog is found', () => {
  test('once, if it has PENDING deliveries', async () => {
    const other = await createTestCtx(database.db)
    const many = ['PENDING', 'PENDING', 'SUCCEEDED', 'PENDING']
    const [own = ''] = await insertBacklogs(1, { statuses: many })
    const [foreign = ''] = await insertBacklogs(1, { on: other, statuses: many })
    await insertBacklogs(3, { statuses: ['SUCCEEDED', 'FAILED', 'INTERRUPTED'] })
    await insertBacklogs(2, { statuses: [] })
    const { backlogs, last } = await findBacklogs(database.db)
    expect(last).toBeUndefined()
    expect(backlogs.map(({ workspaceId, webhookId }) => [workspaceId, uuidOf(webhookId)])).toEqual([
      [ctx.workspaceId, own],
      [other.workspaceId, foreign],
    ])
  })

  test('unless a job has claimed it, or it is paused', async () => {
    const free = await insertBacklogs(2)
    await insertBacklogs(2, { drain: { isClaimed: true } })
    await insertBacklogs(2, { drain: { pausedForMs: 60_000, unreachableCount: 3 } })
    const released = await insertBacklogs(2, { drain: {} })
    const noLongerPaused = await insertBacklogs(2, { drain: { pausedForMs: -1_000, unreachableCount: 3 } })
    expect((await find()).found).toEqual([...free, ...released, ...noLongerPaused])
  })

  test('also if its webhook was disabled or deleted, so that a job marks it as FAILED', async () => {
    const uuids = await insertBacklogs(2)
    await database.db.execute(sql`update webhooks set enabled = false, deleted_at = now()`)
    expect((await find()).found).toEqual(uuids)
  })
})

test('600 webhooks are found in two pages, each once', async () => {
  for (let workspace = 0; workspace < 40; workspace++) {
    await insertBacklogs(15, { on: await createTestCtx(database.db) })
  }
  const first = await find()
  // The workspace with the 500th delivery is the 34th.
  expect(first.found).toHaveLength(34 * 15)
  const second = await find(first.last)
  expect(second).toEqual({ found: expect.any(Array) as string[], last: undefined })
  expect(new Set([...first.found, ...second.found]).size).toBe(600)
  const lastOfAll = (await findBacklogs(database.db, first.last)).backlogs.at(-1)
  expect(await find(lastOfAll?.workspaceId)).toEqual({ found: [], last: undefined })
})

test('after a page with a large backlog, the next one starts at the next workspace', async () => {
  const large = await insertBacklogs(1, { statuses: Array.from({ length: 1_200 }, () => 'PENDING') })
  const small = await insertBacklogs(2)
  const other = await insertBacklogs(2, { on: await createTestCtx(database.db) })
  const first = await find()
  expect(first).toEqual({ found: [...large, ...small], last: ctx.workspaceId })
  expect(await find(first.last)).toEqual({ found: other, last: undefined })
})

describe('the backlogs of one workspace', () => {
  test('at most 20 are found or claimed at a time', async () => {
    await insertBacklogs(30)
    await insertBacklogs(3, { on: await createTestCtx(database.db) })
    expect((await find()).found).toHaveLength(23)
    await insertBacklogs(5, { drain: { isClaimed: true } })
    expect((await find()).found).toHaveLength(18)
    await insertBacklogs(25, { drain: { isClaimed: true } })
    expect((await find()).found).toHaveLength(3)
  })

  test('paused webhooks do not count', async () => {
    await insertBacklogs(30, { drain: { pausedForMs: 60_000, unreachableCount: 3 } })
    const free = await insertBacklogs(20)
    expect((await find()).found).toEqual(free)
  })

  test('the least recently served webhooks come first', async () => {
    await insertBacklogs(20, { drain: { takenBeforeMs: 1_000 } })
    const waiting = await insertBacklogs(5, { drain: { takenBeforeMs: 60_000 } })
    const never = await insertBacklogs(5)
    const { found } = await find()
    expect(found).toHaveLength(20)
    expect(found.slice(-10)).toEqual([...waiting, ...never])
  })

  test('unreachable receivers do not delay other webhooks', async () => {
    await insertBacklogs(25, { drain: { unreachableCount: 1 } })
    const reachable = await insertBacklogs(15)
    const { found } = await find()
    expect(found.slice(-15)).toEqual(reachable)
  })
})

test('at most 10 unreachable receivers are found, in the order of their pauses', async () => {
  const recent = await insertBacklogs(8, { drain: { unreachableCount: 4, pausedForMs: -1_000 } })
  await insertBacklogs(8, { drain: { unreachableCount: 4, pausedForMs: 60_000 } })
  await insertBacklogs(8, { drain: { unreachableCount: 4, isClaimed: true } })
  const other = await createTestCtx(database.db)
  const longest = await insertBacklogs(8, { on: other, drain: { unreachableCount: 4, pausedForMs: -60_000 } })
  const free = await insertBacklogs(12, { on: other })
  const { found } = await find()
  expect(found.slice(-20)).toEqual([...longest, ...free])
  expect(recent).toEqual(expect.arrayContaining(found.slice(0, -20)))
  expect(found).toHaveLength(22)
})
