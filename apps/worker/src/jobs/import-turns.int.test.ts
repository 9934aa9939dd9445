import { cancelImport, readImport } from '@rapport/core/imports/imports.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { createTestCtx, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { countRows, queueTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../../test/fixtures.ts'
import { startWorker } from '../worker.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const timeoutMs = 30_000

test('a small import waits a few chunks of large imports of another workspace', async () => {
  const large = [await queueLargeImport(1), await queueLargeImport(2)]
  const worker = await startWorker(testWorkerConfig({ DATABASE_URL: database.url }), silentLog, {
    timings: shortTimings,
  })
  onTestFinished(() => worker.close())
  await waitUntil(async () => (await readAll(large)).every(({ processed }) => processed > 0), {
    describe: 'both large imports have begun',
    timeoutMs,
  })
  const other = await createTestCtx(database.db)
  const { id } = await queueTestImport(other, 'email\nada@example.com\n')
  await waitUntil(async () => (await readImport(other, id)).status === 'COMPLETED', {
    describe: 'the small import is complete',
    timeoutMs,
  })
  const { createdAt, completedAt } = await readImport(other, id)
  const { rows } = await database.pool.query<{ chunks: number }>(
    `select count(*)::int / 1000 as chunks from contacts where workspace_id = $1 and created_at between $2 and $3`,
    [uuidOf(ctx.workspaceId), createdAt, completedAt],
  )
  // Two turns of each large import.
  expect(rows[0]?.chunks).toBeLessThanOrEqual(20)

  for (const importId of large) await cancelImport(ctx, importId)
  await waitUntil(async () => (await listPendingWork(ctx, 'imports')).length === 0, {
    describe: 'the files of the canceled imports are deleted',
    timeoutMs,
  })
  expect(await countRows(ctx, 'import_parts')).toBe(0)
  const ended = await readAll(large)
  expect(ended).toMatchObject([{ status: 'CANCELED' }, { status: 'CANCELED' }])
  expect(await countRows(ctx, 'contacts')).toBe(ended.reduce((sum, { created }) => sum + created, 0))
})

const readAll = (ids: Parameters<typeof readImport>[1][]) => Promise.all(ids.map((id) => readImport(ctx, id)))

async function queueLargeImport(name: number) {
  const rows = Array.from({ length: 30_000 }, (_, n) => `person${n}-${name}@example.com\n`)
  return (await queueTestImport(ctx, ['email\n', ...rows])).id
}
