import { type ImportId, newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { readImport } from '@rapport/core/imports/imports.ts'
import {
  addSubscribers,
  createTestList,
  createTestWebhook,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRows, queueTestImport } from '@rapport/testing/fixtures/imports.ts'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, expect, test } from 'vitest'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { startWorkerProcess } from '../../test/worker-processes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)
let worker: StartedProcess
afterEach(() => stop('SIGTERM'))

const rowCount = countRuns({ gate: 4_000, full: 12_000 })
/** Every tenth row repeats the first contact, and every twenty-fifth row has no valid email address. */
const file = () =>
  Array.from({ length: rowCount }, (_, index) =>
    index === 0 ? 'email\n' : index % 25 === 0 ? 'invalid\n' : `person${index % 10 === 0 ? 1 : index}@example.com\n`,
  )
const counts = {
  status: 'COMPLETED',
  processed: rowCount - 1,
  failed: rowCount / 25 - 1,
  skipped: rowCount * 0.08,
  created: rowCount * 0.88,
}

test('imports every row once, with one event, although the worker is killed repeatedly', async () => {
  const list = await createTestList(ctx)
  const [deleted = newId('con')] = await addSubscribers(ctx, list.id, {
    count: 1,
    status: 'UNSUBSCRIBED',
    name: 'person2@example.com',
  })
  await database.pool.query(`update contacts set email = 'person2@example.com' where id = $1`, [uuidOf(deleted)])
  await deleteContact(ctx, deleted)
  await createTestWebhook(ctx, { eventTypes: ['import.completed'] })
  const { id } = await queueTestImport(ctx, file(), { listId: list.id, events: 'each' })
  for (const share of [0.1, 0.4]) {
    await start()
    const record = await waitForProgress(id, rowCount * share)
    await stop('SIGKILL')
    expect(record.status).toBe('RUNNING')
    // Expires the heartbeat and recovers the claim, as another worker does.
    await database.pool.query(`update workers set seen_at = now() - interval '1 hour'`)
    await recoverOrphanedClaims(database.db)
    expect(await countClaims()).toBe(0)
  }
  await start()
  const record = await waitForProgress(id, rowCount - 1)
  expect(record).toMatchObject(counts)
  expect(record.errors).toHaveLength(100)
  expect(await countRows(ctx, 'contacts')).toBe(counts.created)
  // Every contact except person2, who had unsubscribed before the deletion.
  expect(await countRows(ctx, 'subscriptions')).toBe(counts.created - 1)
  const events = await database.pool.query(
    `select type, count(*)::int, count(distinct coalesce(data->>'email', data->>'contactId'))::int as people from events where workspace_id = $1
     group by type order by type`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(events.rows).toEqual([
    { type: 'contact.created', count: counts.created, people: counts.created },
    { type: 'contact.deleted', count: 1, people: 0 },
    { type: 'import.completed', count: 1, people: 0 },
    { type: 'subscription.confirmed', count: counts.created - 1, people: counts.created - 1 },
    { type: 'subscription.created', count: counts.created - 1, people: counts.created - 1 },
  ])
  expect(await countRows(ctx, 'deliveries')).toBe(1)
  await waitUntil(async () => (await countRows(ctx, 'import_parts')) === 0, {
    describe: 'the uploaded file is deleted',
  })
  expect(await listPendingWork(ctx, 'imports')).toEqual([])
})

test('SIGTERM during an import requeues the rest, and another worker continues', async () => {
  const { id } = await queueTestImport(ctx, file())
  await start()
  await waitForProgress(id, rowCount * 0.1)
  const { processed } = await stopGracefully(id)
  expect(processed).toBeLessThan(rowCount - 1)
  await start()
  expect(await waitForProgress(id, rowCount - 1)).toMatchObject(counts)
})

const countClaims = async () => (await database.pool.query('select from work where token is not null')).rowCount

async function start() {
  worker = await startWorkerProcess({ env: { DATABASE_URL: database.url, REDIS_URL: redis.url } })
}

async function stop(signal: NodeJS.Signals) {
  if (worker.isRunning) worker.kill(signal)
  return worker.exited
}

async function stopGracefully(id: ImportId) {
  expect(await stop('SIGTERM')).toEqual({ code: 0, signal: null })
  const record = await readImport(ctx, id)
  expect([record.status, await countClaims()]).toEqual(['RUNNING', 0])
  return record
}

/** Waits until `rows` rows are imported. */
async function waitForProgress(id: ImportId, rows: number) {
  return waitUntil(
    async () => {
      const record = await readImport(ctx, id)
      const isRunning = record.status === 'RUNNING' && record.processed >= rows
      const isReached = rows < rowCount - 1 ? isRunning : record.status === 'COMPLETED'
      return isReached && record
    },
    { describe: `${rows} rows are imported`, timeoutMs: 30_000 },
  )
}
