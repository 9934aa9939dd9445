import { uuidOf } from '@rapport/core/kernel/ids.ts'
import {
  createTestContact,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  readSingleDelivery,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { createTestDeps } from '../../test/fixtures.ts'
import { startHeartbeat } from './heartbeat.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))

async function readSeenAt(): Promise<string> {
  const query = 'select seen_at::text from workers where id = $1'
  return (await database.pool.query<{ seen_at: string }>(query, [deps.workerId])).rows[0]?.seen_at ?? ''
}

test('a recovery that waits for a locked claim delays no heartbeat', async () => {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  const crashed = await createTestWorker(database.db)
  await claimTestDrain(ctx, { workerId: crashed })
  await expireWorkerHeartbeat(database.db, crashed)
  const frozen = await openTransaction(database.db, (db) =>
    db.execute(`select from work where workspace_id = '${uuidOf(ctx.workspaceId)}' for update`),
  )
  const heartbeat = startHeartbeat(deps)
  await waitUntilBlocked(database.db)
  const seenAt = await readSeenAt()
  // The recovery waits for three seconds.
  await waitUntil(async () => (await readSeenAt()) > seenAt, { describe: 'a further heartbeat', timeoutMs: 2_000 })
  await frozen.commit()
  await heartbeat.stop()
  expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
})
