/** What `restored` and `rotate-key` print, and their exit codes. Tests in core cover their effects on the data. */
import { readKeyState, requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { parseCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { describeError, exitCodeOf } from './describe-error.ts'
import { startInProcess, unreachableEnvironment } from './testing.ts'

const database = useTestDatabase()

const former = 'QSBrZXkgdGhhdCB3YXMgcHJlc2VudCBvbmNlIQ=='
async function run(env: Record<string, string>, ...words: string[]) {
  const [printed, logged]: [string[], string[]] = [[], []]
  const start = async () => {
    const parsed = await parseCommandLine(commands, words)
    if ('print' in parsed) throw new Error(parsed.print)
    const environment = { ...unreachableEnvironment, DATABASE_URL: database.url, ...env }
    const started = startInProcess(parsed.command, parsed.options, { environment })
    return await started.code.finally(() => {
      printed.push(...started.printed)
      logged.push(...started.logged)
    })
  }
  const code = await start().catch((error: unknown) => {
    logged.push(describeError(error))
    return exitCodeOf(error)
  })
  return { code, stdout: printed.map((text) => `${text}\n`).join(''), stderr: logged.join('\n') }
}

test('restored: interrupts and counts pending work, and fails while a worker is alive', async () => {
  const ctx = await createTestCtx(database.db)
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  const workerId = await createTestWorker(database.db)
  const rejected = await run({}, 'restored')
  expect(rejected).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('A worker is alive') as string,
  })
  await expireWorkerHeartbeat(database.db, workerId)
  const none = { deliveries: 0, mails: 0, campaigns: 0, recipients: 0 }
  const older = await run({}, 'restored', '--before', '2020-01-01T00:00:00Z', '--json')
  expect([older.code, JSON.parse(older.stdout)]).toEqual([0, none])
  expect(await run({}, 'restored')).toMatchObject({
    code: 0,
    stdout: 'INTERRUPTED: 1 delivery, 0 emails, 0 recipients; PAUSED: 0 campaigns\n',
  })
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await run({}, 'restored', '--before', 'yesterday')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--before: must be a timestamp') as string,
  })
})

test('rotate-key: counts secrets, and exits with 1 until all keys are known', async () => {
  await database.pool.query('truncate workspaces cascade')
  await createTestWebhook(await createTestCtx(database.db, { settings: { keys: deriveKeys(former) } }))
  const lost = await run({}, 'rotate-key')
  expect(lost).toMatchObject({
    code: 1,
    stdout: '0 secrets re-encrypted, 1 with an unknown key\n',
    stderr: expect.stringContaining('SECRET_KEY_PREVIOUS') as string,
  })
  const named = { SECRET_KEY_PREVIOUS: former }
  expect(await run(named, 'rotate-key')).toMatchObject({
    code: 0,
    stdout: '1 secret re-encrypted, 0 with an unknown key\n',
  })
  expect((await run({}, 'rotate-key', '--json')).stdout).toBe('{"resealed":0,"lost":0}\n')
})

describe('rotate-key, in a database with a former key', () => {
  const current = deriveKeys(unreachableEnvironment.SECRET_KEY)
  beforeEach(async () => {
    await database.pool.query('truncate workspaces, installation cascade')
    await requireSecretKey(database.db, deriveKeys(former))
  })

  test('makes the current key the key of the database', async () => {
    expect(await run({}, 'rotate-key')).toMatchObject({
      code: 1,
      stdout: '0 secrets re-encrypted, 0 with an unknown key\n',
      stderr: expect.stringContaining('SECRET_KEY: is not the key of this database') as string,
    })
    expect(await readKeyState(database.db, current)).toBe('wrong')
    expect(await run({ SECRET_KEY_PREVIOUS: former }, 'rotate-key')).toMatchObject({ code: 0 })
    expect(await readKeyState(database.db, current)).toBe('current')
  })

  test('with --lost does so without the former key', async () => {
    expect(await run({}, 'rotate-key', '--lost')).toMatchObject({ code: 0, stderr: '' })
    expect(await readKeyState(database.db, current)).toBe('current')
  })
})
