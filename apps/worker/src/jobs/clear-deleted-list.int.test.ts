import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { deleteList } from '@rapport/core/lists/delete-list.ts'
import { addSubscribers, createTestList, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { clearList } from './clear-deleted.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))

async function count(table: 'lists' | 'subscriptions'): Promise<number> {
  const result = await database.pool.query(`select from ${table} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])
  return result.rowCount ?? 0
}
const countSubscribed = async () =>
  (
    await database.pool.query(`select from contacts where workspace_id = $1 and email_subscribed_status <> 'NONE'`, [
      uuidOf(ctx.workspaceId),
    ])
  ).rowCount

/** Creates and deletes a list with subscribers. Returns its UUID. */
async function createDeletedList(subscribers: number): Promise<string> {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: subscribers })
  await deleteList(ctx, list.id)
  return uuidOf(list.id)
}

test('one job deletes a long list with all its subscriptions', async () => {
  const uuid = await createDeletedList(2_600)
  await clearList(deps, jobOf(ctx, 'CLEAR_LIST', uuid))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([0, 0, 0])
  expect(await listPendingWork(ctx)).toEqual([])
  await clearList(deps, jobOf(ctx, 'CLEAR_LIST', uuid))
})

test('a job that has had its turn leaves the rest to the next one', async () => {
  const uuid = await createDeletedList(2_600)
  const timings = { ...deps.timings, clearTurnMs: 0 }
  for (const left of [2_100, 1_600]) {
    await clearList({ ...deps, timings }, jobOf(ctx, 'CLEAR_LIST', uuid))
    expect([await count('lists'), await count('subscriptions')]).toEqual([1, left])
    expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuid])
  }
})

test('a worker that shuts down requeues the rest, and two concurrent jobs finish it', async () => {
  const uuid = await createDeletedList(2_600)
  await clearList({ ...deps, stopping: AbortSignal.abort() }, jobOf(ctx, 'CLEAR_LIST', uuid))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([1, 2_100, 2_100])
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuid])
  await Promise.all([1, 2].map(() => clearList(deps, jobOf(ctx, 'CLEAR_LIST', uuid))))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([0, 0, 0])
  expect(await listPendingWork(ctx)).toEqual([])
})
