/** Backups that are killed, that fill the disk, and that run at the same time. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { findBackupServer, startBackupServer } from '@rapport/testing/postgres/backup-server.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { unreachableEnvironment } from '../testing.ts'
import { openBackupFolder, withProgram } from './testing.ts'

const programs = await findBackupServer()
const canMount = tryToMount()

/** Root in a container may lack the right to mount. */
function tryToMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'rapport-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe.skipIf(programs === undefined)('a backup', () => {
  const server = useForFile(() => startBackupServer(programs))
  const database = useForFile(() => server.createDatabase('rapport'))
  const environment = () => ({ DATABASE_URL: database.url, PATH: server.path })
  const backups = useForTest(() => openBackupFolder(environment()))
  beforeAll(async () => {
    await createTestContact(await createTestCtx(database.db))
    // Random data of 20 MB, so that a backup takes half a second.
    await withAdminClient(database.url, (client) =>
      client.query(`
        create table large as
        select string_agg(gen_random_uuid()::text, '') as data from generate_series(1, 600000) n group by n / 1000`),
    )
  })

  /** Starts the command as a program, which a signal can end. */
  const start = (...parameters: string[]) =>
    startProcess({
      script: 'apps/cli/src/main.ts',
      parameters: ['backup', '--directory', backups.folder, ...parameters],
      env: { ...unreachableEnvironment, ...environment() },
    })
  const sizeOf = (name: string) => statSync(join(backups.folder, name)).size
  const waitForPartial = () =>
    waitUntil(() => backups.list().find((name) => name.endsWith('.partial') && sizeOf(name) > 0), {
      describe: 'the dump is being written',
      timeoutMs: 30_000,
    })
  const complete = expect.stringMatching(/^rapport-\d{8}T\d{6}Z\.dump$/) as string

  test('that is killed leaves no complete file, and the next one removes the rest', async () => {
    const killed = await start()
    const partial = await waitForPartial()
    killed.kill('SIGKILL')
    await killed.exited
    expect(backups.list()).toEqual([partial])
    expect((await database.pool.query('select from backups')).rowCount).toBe(0)

    await waitUntil(async () => (await backups.backUp()).error === null, {
      describe: 'the lock of the killed process is released',
      timeoutMs: 30_000,
    })
    expect(backups.list()).toEqual([complete])
  })

  test('that is killed during its test restore leaves no complete file', async () => {
    const killed = await start('--verify')
    await waitUntil(async () => (await server.listDatabases()).includes('rapport_test_restore'), {
      describe: 'the test restore runs',
      timeoutMs: 30_000,
    })
    killed.kill('SIGKILL')
    await killed.exited
    expect(backups.list()).toEqual([expect.stringMatching(/\.dump\.partial$/)])

    await waitUntil(async () => (await backups.backUp({ verify: true })).error === null, {
      describe: 'the lock of the killed process is released',
      timeoutMs: 30_000,
    })
    expect(backups.list()).toEqual([complete])
    expect(await server.listDatabases()).toEqual(['postgres', 'rapport'])
  })

  test('that is stopped with Ctrl-C removes its file and exits with 130', async () => {
    const stopped = await start()
    await waitForPartial()
    stopped.kill('SIGINT')
    expect(await stopped.exited).toMatchObject({ code: 130 })
    expect(stopped.stderr()).toBe('rapport: Stopped. There is no new backup.\n')
    expect(backups.list()).toEqual([])
  })

  test('is refused while another one of the same database is running', async () => {
    const first = await start()
    await waitForPartial()
    expect((await backups.backUp()).error).toBe('Another backup of this database is running')
    expect(await first.exited).toMatchObject({ code: 0 })
    expect(backups.list()).toEqual([complete])
  })

  test('fails without a file if pg_dump fails', async () => {
    const running = start()
    await waitForPartial()
    await withAdminClient(server.adminUrl, (client) =>
      client.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'COPY %'`),
    )
    const failed = await running
    expect(await failed.exited).toMatchObject({ code: 1 })
    expect(failed.stderr()).toMatch(/pg_dump exited with code 1\n +pg_dump: error: /)
    expect(backups.list()).toEqual([])
  })

  test('does not count if its test restore has other rows', async () => {
    const { error } = await withProgram(
      {
        name: 'pg_dump',
        script: `exec ${programs?.folder}/pg_dump "$@" --exclude-table-data=contacts`,
        path: server.path,
      },
      (path) => backups.backUp({ verify: true }, { PATH: path }),
    )
    expect(error).toMatch(/^The test restore failed, so \S+\.dump\.partial does not count as a backup: the next/)
    expect(error).toContain('public.contacts has 0 rows instead of 1 row')
    expect(backups.list()).toEqual([expect.stringMatching(/\.dump\.partial$/)])
    expect(await server.listDatabases()).toEqual(['postgres', 'rapport'])
  })

  test.skipIf(!canMount)('leaves nothing on a disk that is full (needs root to mount one)', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', backups.folder])
    try {
      const { error } = await backups.backUp()
      expect(error).toBe(`${backups.folder}: the disk is full. The unfinished backup was removed.`)
      expect(backups.list()).toEqual([])
    } finally {
      execFileSync('umount', [backups.folder])
    }
  })

  test('can be restored again after a restore was killed, and only once at a time', async () => {
    const { printed } = await backups.backUp()
    const killed = await startProcess({
      script: 'apps/cli/src/main.ts',
      parameters: ['restore', printed ?? '', '--into', 'restored'],
      env: { ...unreachableEnvironment, ...environment() },
    })
    await waitUntil(async () => (await server.listDatabases()).includes('restored_unfinished_restore'), {
      describe: 'the restore runs',
      timeoutMs: 30_000,
    })
    const second = await backups.restore(printed ?? '', { into: 'restored' })
    expect(second.error).toBe('Another restore into the database "restored" is running')
    killed.kill('SIGKILL')
    await killed.exited
    expect(await server.listDatabases()).not.toContain('restored')

    await waitUntil(async () => (await backups.restore(printed ?? '', { into: 'restored' })).error === null, {
      describe: 'the lock of the killed process is released',
      timeoutMs: 30_000,
    })
    expect(await server.listDatabases()).toEqual(['postgres', 'rapport', 'restored'])
    await withAdminClient(server.url('postgres'), (client) => client.query('drop database restored'))
  })
})
