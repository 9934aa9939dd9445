import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { deleteCompany } from '@rapport/core/operations/contacts/delete-company.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { createTestCompany, insertContactsOfCompany, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { startWorkerProcess } from '../../test/worker-processes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)
const people = countRuns({ gate: 3_000, full: 100_000 })

const startWorker = () => startWorkerProcess({ env: { DATABASE_URL: database.url, REDIS_URL: redis.url } })

async function countContacts() {
  const { rows } = await database.pool.query<{ all: number; linked: number }>(
    'select count(*)::int as all, count(company_id)::int as linked from contacts where workspace_id = $1',
    [uuidOf(ctx.workspaceId)],
  )
  return rows[0] ?? { all: 0, linked: 0 }
}

test('each contact of a deleted company is released, although the worker is killed', async () => {
  const company = await createTestCompany(ctx)
  await insertContactsOfCompany(ctx, company, people)
  await deleteCompany(ctx, company.id)
  // One of the last steps waits for this contact.
  const blocker = await database.pool.connect()
  // A worker may take longer to start than a transaction of the pool may be idle.
  await blocker.query('begin; set local idle_in_transaction_session_timeout = 0')
  await blocker.query('select from contacts where workspace_id = $1 order by id desc limit 1 for update', [
    uuidOf(ctx.workspaceId),
  ])
  const killed = await startWorker()
  await waitUntilBlocked(database.db, 1, { timeoutMs: 120_000 })
  killed.kill('SIGKILL')
  await killed.exited
  await blocker.query('commit')
  blocker.release()
  const { linked } = await countContacts()
  expect([linked > 0, linked < people]).toEqual([true, true])
  await database.pool.query(`update workers set seen_at = now() - interval '1 hour'`)
  await recoverOrphanedClaims(database.db)

  const next = await startWorker()
  const isDone = async () => (await listPendingWork(ctx)).length === 0
  await waitUntil(isDone, { describe: 'the contacts are released', timeoutMs: 240_000 })
  next.kill('SIGKILL')
  await next.exited
  expect(await countContacts()).toEqual({ all: people, linked: 0 })
})
