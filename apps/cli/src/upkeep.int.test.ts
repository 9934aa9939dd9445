/** The commands of a restore and of a change of keys, as programs. What they do to the data is tested in core. */
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { deadEnvironment } from './testing.ts'

const database = useTestDatabase()

const former = 'QSBrZXkgdGhhdCB3YXMgcHJlc2VudCBvbmNlIQ=='
const run = (env: Record<string, string>, ...parameters: string[]) =>
  runProcess({
    script: 'apps/cli/src/main.ts',
    parameters,
    env: { ...deadEnvironment, DATABASE_URL: database.url, ...env },
  })

test('restored: what was to go out is interrupted and counted; with a worker alive it is refused', async () => {
  const ctx = await createTestCtx(database.db)
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  const workerId = await createTestWorker(database.db)
  const refused = await run({}, 'restored')
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('A worker is alive') as string })
  await expireWorkerHeartbeat(database.db, workerId)
  const none = { deliveries: 0, mails: 0, campaigns: 0, recipients: 0 }
  const older = await run({}, 'restored', '--before', '2020-01-01T00:00:00Z', '--json')
  expect([older.code, JSON.parse(older.stdout)]).toEqual([0, none])
  expect(await run({}, 'restored')).toMatchObject({
    code: 0,
    stdout: 'INTERRUPTED: 1 deliveries, 0 mails, 0 recipients; PAUSED: 0 campaigns\n',
  })
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await run({}, 'restored', '--before', 'yesterday')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--before: must be a moment') as string,
  })
})

test('rotate-key: webhooks are counted, and one under no known key is code 1 until its key is named', async () => {
  await database.pool.query('truncate workspaces cascade')
  await createTestWebhook(await createTestCtx(database.db, { settings: { keys: deriveKeys(former) } }))
  const lost = await run({}, 'rotate-key')
  expect(lost).toMatchObject({
    code: 1,
    stdout: '0 webhooks encrypted anew, 1 under no known key\n',
    stderr: expect.stringContaining('SECRET_KEY_PREVIOUS') as string,
  })
  const named = { SECRET_KEY_PREVIOUS: former }
  expect(await run(named, 'rotate-key')).toMatchObject({
    code: 0,
    stdout: '1 webhooks encrypted anew, 0 under no known key\n',
  })
  expect((await run({}, 'rotate-key', '--json')).stdout).toBe('{"resealed":0,"lost":0}\n')
})
