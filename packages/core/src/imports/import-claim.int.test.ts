import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { uuidOf } from '../kernel/ids.ts'
import {
  createTestCtx,
  createTestList,
  expireWorkerHeartbeat,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { prepareTestClaim } from '@rapport/testing/fixtures/claims.ts'
import {
  claimTestImport,
  countRows,
  runTestImport,
  queueTestImport,
  runQueuedImport,
} from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ClaimedImport, claimImport, failImport, finishCanceledImport, finishImport } from './import-claim.ts'
import { cancelImport, listImports, readImport, receiveImport } from './imports.ts'
import { purgeImport, purgeImports } from './purge-imports.ts'
import { ImportOptions, ImportQuery } from './imports.schema.ts'
import { importSteps } from './import-steps.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'
import { releaseClaim } from '../work/claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('imports a chunk once, and never for a worker that lost its claim', async () => {
  const { id } = await queueTestImport(ctx, [
    'email\n',
    ...Array.from({ length: 2_000 }, (_, n) => `person${n}@example.com\n`),
  ])
  const first = await claimTestImport(ctx, id)
  const [step, next] = await stepsOf(first)
  expect(await next?.()).toBe('lost')
  expect(await step?.()).toBe('written')
  const afterOne = await readImport(ctx, id)
  expect(await step?.()).toBe('written')
  expect(await readImport(ctx, id)).toEqual(afterOne)

  await expireWorkerHeartbeat(database.db, first.claim.workerId)
  await recoverOrphanedClaims(database.db)
  expect(await readImport(ctx, id)).toMatchObject({ status: 'RUNNING', processed: afterOne.processed })
  const second = await claimTestImport(ctx, id)
  expect(await next?.()).toBe('lost')
  await finishImport(ctx, first)
  await purgeImport(ctx, first)
  expect(await readImport(ctx, id)).toMatchObject({ status: 'RUNNING' })
  await releaseClaim(ctx, second.claim, 'retry')
  await runQueuedImport(ctx, id)
  expect(await readImport(ctx, id)).toMatchObject({
    status: 'COMPLETED',
    processed: 2_000,
    created: 2_000,
    skipped: 0,
  })
})

test('only one worker can claim an import', async () => {
  const { id } = await queueTestImport(ctx, 'email\n')
  const claims = await Promise.all([1, 2, 3].map(() => claimTestImport(ctx, id).catch(() => undefined)))
  expect(claims.filter(Boolean)).toHaveLength(1)
  const workspaceId = (await createTestCtx(database.db)).workspaceId
  const claim = await prepareTestClaim(ctx, uuidOf(id), uuidOf(id))
  expect(await claimImport({ ...ctx, workspaceId }, { ...claim, workspaceId })).toBeUndefined()
})

const fileOfThreeParts = [
  'email,company\n',
  ...Array.from({ length: 12_000 }, () => `ada@example.com,"${'x'.repeat(199)}"\n`),
]

test('deletes the parts of the file as their rows are imported', async () => {
  const { id } = await queueTestImport(ctx, fileOfThreeParts)
  expect(await countRows(ctx, 'import_parts')).toBe(3)
  const claimed = await claimTestImport(ctx, id)
  let mostParts = 0
  for await (const step of importSteps(ctx, claimed)) {
    await step()
    mostParts = await countRows(ctx, 'import_parts')
  }
  expect(mostParts).toBe(1)
  await releaseClaim(ctx, claimed.claim, 'retry')
  await runQueuedImport(ctx, id)
  expect(await countRows(ctx, 'import_parts')).toBe(0)
  expect(await readImport(ctx, id)).toMatchObject({ processed: 12_000, created: 1, skipped: 11_999 })
})

test('a file with a missing part fails the import', async () => {
  const { id } = await queueTestImport(ctx, fileOfThreeParts)
  await database.db.execute(sql`delete from import_parts where import_id = ${uuidOf(id)} and position > 2000000`)
  await expect(runQueuedImport(ctx, id)).rejects.toThrow('has no data at byte 2097152 of 2616014')
})

test('an incomplete upload is never imported and is deleted after an hour', async () => {
  async function* broken() {
    yield Buffer.from(`email\n${'ada@example.com\n'.repeat(100_000)}`)
    throw new Error('Connection lost')
  }
  const options = { ...ImportOptions.parse({}), format: 'csv' as const }
  await expect(receiveImport(ctx, options, broken())).rejects.toThrow('Connection lost')
  expect(await countRows(ctx, 'imports')).toBe(0)

  async function* whole() {
    yield Buffer.from('email\nada@example.com\n')
  }
  const fresh = await receiveImport(ctx, options, whole())
  const old = await receiveImport(ctx, options, whole())
  await database.db.execute(
    sql`update imports set received_at = now() - interval '61 minutes' where id = ${uuidOf(old)}`,
  )
  expect(await listPendingWork(ctx, 'imports')).toEqual([])
  expect(await readImport(ctx, fresh)).toMatchObject({ status: 'QUEUED', startedAt: null })
  await expect(claimTestImport(ctx, fresh)).rejects.toThrow('cannot be claimed')
  while ((await purgeImports(database.db)) > 0);
  expect((await listImports(ctx, ImportQuery.parse({}))).data.map((record) => record.id)).toEqual([fresh])
  expect(await countRows(ctx, 'import_parts')).toBe(1)
})

test('a canceled import is not continued, keeps what it imported, and emits one event', async () => {
  const lines = Array.from({ length: 2_000 }, (_, n) => `person${n}@example.com\n`)
  const { id } = await queueTestImport(ctx, ['email\n', ...lines])
  const claimed = await claimTestImport(ctx, id)
  const [step, next] = await stepsOf(claimed)
  await step?.()
  const outcomes = await Promise.allSettled([cancelImport(ctx, id), cancelImport(ctx, id)])
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await next?.()).toBe('lost')
  await finishImport(ctx, claimed)
  expect(await failImport(ctx, claimed, { message: 'The list was deleted' })).toBe(false)
  expect(await readImport(ctx, id)).toMatchObject({ status: 'CANCELED', created: 1_000, errors: [] })
  expect(await countRows(ctx, 'contacts')).toBe(1_000)
  expect(await listEventTypes(ctx)).toEqual(['import.completed'])
  expect(await listPendingWork(ctx, 'imports')).toEqual([uuidOf(id)])
  await releaseClaim(ctx, claimed.claim, 'requeue')
  await finishCanceledImport(ctx, await claimTestImport(ctx, id))
  expect(await countRows(ctx, 'import_parts')).toBe(0)
  expect(await listPendingWork(ctx, 'imports')).toEqual([])
})

test('only imports of the workspace that have not ended can be canceled', async () => {
  const { id } = await runTestImport(ctx, 'email\n')
  await expect(cancelImport(ctx, id)).rejects.toThrow('The import has ended: it is COMPLETED')
  const queued = await queueTestImport(ctx, 'email\n', { dryRun: 'true' })
  await expect(cancelImport(await createTestCtx(database.db), queued.id)).rejects.toThrow('Import not found')
  await cancelImport(ctx, queued.id)
  expect(await listEventTypes(ctx)).toEqual(['import.completed'])
})

test('a list that is deleted during an import fails it', async () => {
  const list = await createTestList(ctx)
  const { id } = await queueTestImport(ctx, 'email\nada@example.com\n', { listId: list.id })
  await database.db.execute(sql`delete from lists where id = ${uuidOf(list.id)}`)
  const claimed = await claimTestImport(ctx, id)
  for await (const step of importSteps(ctx, claimed)) await expect(step()).rejects.toThrow()
  await failImport(ctx, claimed, { message: 'The list was deleted' })
  expect(await readImport(ctx, id)).toMatchObject({
    status: 'FAILED',
    processed: 0,
    errors: [{ line: 2, message: 'The list was deleted' }],
    completedAt: expect.any(String),
  })
  expect(await listPendingWork(ctx, 'imports')).toEqual([])
  expect(await countRows(ctx, 'contacts')).toBe(0)
})

test('lists the imports of one workspace, newest first', async () => {
  const [first, second] = [await runTestImport(ctx, 'email\n'), await runTestImport(ctx, 'email\n')]
  expect((await listImports(ctx, ImportQuery.parse({}))).data).toEqual([second, first])
  const other = await createTestCtx(database.db)
  expect((await listImports(other, ImportQuery.parse({}))).data).toEqual([])
  await expect(readImport(other, first.id)).rejects.toThrow('Import not found')
})

async function stepsOf(claimed: ClaimedImport) {
  const steps = []
  for await (const step of importSteps(ctx, claimed)) steps.push(step)
  return steps
}
