/** What `rapport restore` refuses, and that a restore that fails leaves nothing. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { makeNextRelease } from '@rapport/testing/migrations/next-release.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { findBackupServer, startBackupServer } from '@rapport/testing/postgres/backup-server.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { unreachableEnvironment } from '../testing.ts'
import { backupKey, openBackupFolder } from './testing.ts'

const programs = await findBackupServer()
const keyOfBackup = 'dGhlIGtleSBvZiB0aGUgYmFja3VwIGZvciBhIHRlc3Q='
const otherKey = Buffer.alloc(32, 8).toString('base64')

describe.skipIf(programs === undefined)('a restore', () => {
  const server = useForFile(() => startBackupServer(programs))
  const database = useForFile(() => server.createDatabase('rapport'))
  const backups = useForFile(() =>
    openBackupFolder({ DATABASE_URL: database.url, PATH: server.path, BACKUP_KEY: backupKey }),
  )
  let [encrypted, plain] = ['', '']
  beforeAll(async () => {
    await createTestContact(await createTestCtx(database.db), { email: 'ada@example.com' })
    encrypted = (await backups.backUp()).printed ?? ''
    plain = (await backups.backUp({}, { BACKUP_KEY: '' })).printed ?? ''
    mkdirSync(join(backups.folder, 'copies'))
  })
  afterEach(async () => {
    const databases = await server.listDatabases()
    if (databases.join() !== 'postgres,rapport') throw new Error(`The test left databases: ${databases.join()}`)
  })
  const query = async (name: string, statement: string) =>
    (await withAdminClient(server.url(name), (client) => client.query<Record<string, unknown>>(statement))).rows
  const administer = (statement: string) => query('postgres', statement)
  const restoreInto = (into: string, file: string, environment: Record<string, string> = {}) =>
    backups.restore(file, { into }, environment)

  function copyFile(from: string, name: string, change: (content: Buffer) => Buffer = (content) => content): string {
    const path = join(backups.folder, 'copies', name)
    writeFileSync(path, change(readFileSync(from)))
    return path
  }

  test('refuses a database that is not empty, and one that is in use', async () => {
    const filled = await backups.restore(encrypted)
    expect(filled.error).toContain('The database "rapport" is not empty. Use --replace to rename it')
    const inUse = await backups.restore(encrypted, { replace: true })
    expect(inUse.error).toMatch(/^The database "rapport" has (a connection|\d+ connections): stop all APIs and workers/)
  })

  test('fails with another key, without a key, and with an invalid key', async () => {
    expect((await restoreInto('none', encrypted, { BACKUP_KEY: otherKey })).error).toBe(
      'BACKUP_KEY: the file is encrypted with another key',
    )
    expect((await restoreInto('none', encrypted, { BACKUP_KEY: '' })).error).toContain('BACKUP_KEY: is required')
    expect((await restoreInto('none', encrypted, { BACKUP_KEY: 'secret' })).error).toContain(
      'BACKUP_KEY: must be 32 random bytes in Base64',
    )
  })

  const flipAt = (share: number) => (content: Buffer) => {
    const at = Math.min(content.length - 1, Math.floor(content.length * share))
    return Buffer.concat([content.subarray(0, at), Buffer.of((content[at] ?? 0) ^ 1), content.subarray(at + 1)])
  }
  const cutAt = (share: number) => (content: Buffer) =>
    content.subarray(0, Math.min(content.length - 1, Math.floor(content.length * share)))
  const damages: Record<string, (content: Buffer) => Buffer> = {
    'changed at the start': flipAt(0),
    'changed in the header': flipAt(0.0005),
    'changed at a third': flipAt(0.3),
    'changed at the end': flipAt(1),
    'cut to nothing': cutAt(0),
    'cut in the header': cutAt(0.0005),
    'cut in the middle': cutAt(0.5),
    'cut by a byte': cutAt(1),
    'longer than before': (content) => Buffer.concat([content, Buffer.of(0)]),
  }
  test.each(Object.entries(damages))('fails if the encrypted file was %s', async (_name, damage) => {
    const { error } = await restoreInto('none', copyFile(encrypted, 'damaged.dump.age', damage))
    expect(error).toMatch(/^The file is damaged or incomplete|^BACKUP_KEY: the file is|^\S+ is not a file of/)
  })

  test.each([0.0005, 0.1, 0.5, 0.99])('fails if a file without encryption was cut at %d', async (share) => {
    const { error } = await restoreInto('none', copyFile(plain, 'cut.dump', cutAt(share)))
    expect(error).toMatch(/pg_restore exited with code 1\npg_restore: error: .*(end of file|could not read)/)
  })

  test('fails for a file of a newer release, of a newer pg_dump, and of another program', async () => {
    await database.pool.query(`
      insert into drizzle.__drizzle_migrations (hash, created_at) values (repeat('0', 64), 4102444800000)`)
    const { printed } = await backups.backUp()
    await database.pool.query('delete from drizzle.__drizzle_migrations where created_at = 4102444800000')
    expect((await restoreInto('none', printed ?? '')).error).toContain('was made by a newer release of Rapport')

    const newer = copyFile(plain, 'newer.dump', (content) => {
      // The minor version of the format.
      content[6] = 99
      return content
    })
    expect((await restoreInto('none', newer)).error).toContain('was made by a newer pg_dump than pg_restore')

    const foreign = join(backups.folder, 'copies/foreign.dump')
    const parameters = ['--format=custom', `--file=${foreign}`, server.url('postgres')]
    await promisify(execFile)(join(programs?.folder ?? '', 'pg_dump'), parameters)
    expect((await restoreInto('none', foreign)).error).toContain('is not a backup of Rapport')
    writeFileSync(foreign, 'CREATE TABLE contacts ();')
    expect((await restoreInto('none', foreign)).error).toContain('is not a file of "rapport backup"')
    expect((await restoreInto('none', '/nonexistent')).error).toBe('<file>: /nonexistent cannot be read (ENOENT)')
  })

  test('of the next release accepts a backup of this one, and migrates it', async () => {
    const next = await makeNextRelease()
    onTestFinished(() => next.close())
    const script = join(next.directory, 'apps/cli/src/main.ts')
    const parameters = ['restore', encrypted, '--into', 'restored']
    const env = { ...unreachableEnvironment, DATABASE_URL: database.url, PATH: server.path, BACKUP_KEY: backupKey }
    const { code, stderr } = await runProcess({ script, parameters, env })
    expect([code, stderr]).toEqual([0, expect.stringContaining('The database "restored" is restored.')])
    expect(await query('restored', 'select email, of_next_release from contacts')).toEqual([
      { email: 'ada@example.com', of_next_release: '' },
    ])
    await administer('drop database restored')
  })

  test('refuses a backup with another first migration, and creates nothing', async () => {
    const hash = (await database.pool.query<{ hash: string }>('select hash from drizzle.__drizzle_migrations')).rows[0]
      ?.hash
    await database.pool.query(`update drizzle.__drizzle_migrations set hash = repeat('0', 64)`)
    const former = join(backups.folder, 'copies/former.dump')
    const parameters = ['--format=custom', `--file=${former}`, database.url]
    await promisify(execFile)(join(programs?.folder ?? '', 'pg_dump'), parameters)
    await database.pool.query('update drizzle.__drizzle_migrations set hash = $1', [hash])
    expect(await restoreInto('none', former)).toMatchObject({
      error: 'This database was made before the first release and cannot be upgraded. Use an empty one.',
      exitCode: 78,
    })
  })

  test('creates the database of DATABASE_URL if it is missing', async () => {
    const { printed } = await backups.restore(encrypted, {}, { DATABASE_URL: server.url('missing') })
    expect(JSON.parse(printed ?? '')).toMatchObject({ database: 'missing', replaced: null })
    expect(await query('missing', 'select email from contacts')).toEqual([{ email: 'ada@example.com' }])
    await administer('drop database missing')
  })

  test('accepts a file that pg_dump has written, and any name', async () => {
    const own = join(backups.folder, 'copies/own.dump')
    await promisify(execFile)(join(programs?.folder ?? '', 'pg_dump'), [
      '--format=custom',
      `--file=${own}`,
      database.url,
    ])
    for (const file of [own, copyFile(encrypted, 'renamed.dump.age')]) {
      expect((await restoreInto('restored', file)).error).toBe(null)
      expect(await query('restored', 'select email from contacts')).toEqual([{ email: 'ada@example.com' }])
      await administer('drop database restored')
    }
  })

  test('warns if SECRET_KEY is not the key of the backup', async () => {
    await requireSecretKey(database.db, deriveKeys(keyOfBackup))
    const { printed } = await backups.backUp()
    const warning = 'Warning: SECRET_KEY is not the key of the backup.'
    const wrong = await restoreInto('restored', printed ?? '')
    expect([wrong.error, wrong.logged]).toEqual([null, expect.stringContaining(warning)])
    await administer('drop database restored')
    const right = await restoreInto('restored', printed ?? '', { SECRET_KEY_PREVIOUS: keyOfBackup })
    expect([right.error, right.logged]).toEqual([null, expect.not.stringContaining(warning)])
    await administer('drop database restored')
    await database.pool.query('truncate installation')
  })

  test('renames the former database with --replace', async () => {
    const second = await server.createDatabase('second')
    await createTestContact(await createTestCtx(second.db), { email: 'newer@example.com' })
    await second.close()
    const restored = await backups.restore(encrypted, { replace: true }, { DATABASE_URL: second.url })
    const { replaced } = JSON.parse(restored.printed ?? '') as { replaced: string }
    expect(replaced).toMatch(/^second_replaced_\d{14}$/)
    expect(await query('second', 'select email from contacts')).toEqual([{ email: 'ada@example.com' }])
    expect(await query(replaced, 'select email from contacts')).toEqual([{ email: 'newer@example.com' }])
    await administer('drop database second')
    await administer(`drop database ${replaced}`)
  })

  test('takes the place of an empty database, with its encoding', async () => {
    await administer(`create database target template template0 encoding 'LATIN1' locale 'C'`)
    expect((await restoreInto('target', encrypted)).error).toBe(null)
    const found = await administer(`
      select datname, pg_encoding_to_char(encoding) as encoding, shobj_description(oid, 'pg_database') as comment
      from pg_database where datname in ('rapport', 'target') order by 1`)
    expect(found).toEqual([
      { datname: 'rapport', encoding: 'UTF8', comment: null },
      { datname: 'target', encoding: 'LATIN1', comment: null },
    ])
    await administer('drop database target')
  })

  test('keeps a database that only has the name of an unfinished restore', async () => {
    await administer('create database none_unfinished_restore')
    await withAdminClient(server.url('none_unfinished_restore'), (client) => client.query('create table theirs ()'))
    const { error } = await restoreInto('none', encrypted)
    expect(error).toBe('The database "none_unfinished_restore" is not an unfinished restore: rename it, and try again')
    await administer('drop database none_unfinished_restore')
  })

  test('replaces an empty database that a killed restore has not marked yet', async () => {
    await administer('create database target_unfinished_restore')
    expect((await restoreInto('target', encrypted)).error).toBeNull()
    await administer('drop database target')
  })

  test('needs a role that may create databases', async () => {
    await withAdminClient(server.adminUrl, (client) => client.query('alter role application nocreatedb'))
    const { error } = await restoreInto('none', encrypted)
    await withAdminClient(server.adminUrl, (client) => client.query('alter role application createdb'))
    expect(error).toBe('The database "none_unfinished_restore" cannot be created: permission denied to create database')
  })
})
