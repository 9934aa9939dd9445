/** Backups and their restores on each version of PostgreSQL whose client programs this machine has. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { recordEmailOutcomes } from '@rapport/core/emails/record-emails.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { claimTestEmail, createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestContact, createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import {
  type BackupServerPrograms,
  findBackupServers,
  startBackupServer,
} from '@rapport/testing/postgres/backup-server.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { describe, expect, test } from 'vitest'
import { backupKey, openBackupFolder, withProgram } from './testing.ts'

for (const programs of await findBackupServers()) {
  describe.skipIf(programs.folder === undefined)(`PostgreSQL ${programs.majorVersion}:`, () => {
    testVersion(programs)
  })
}

function testVersion(programs: BackupServerPrograms) {
  const server = useForFile(() => startBackupServer(programs))
  const database = useForFile(() => server.createDatabase('rapport'))
  const backups = useForTest(() => openBackupFolder({ DATABASE_URL: database.url, PATH: server.path }))

  /** Contacts with pending deliveries. */
  async function addContacts(...emails: string[]) {
    const ctx = await createTestCtx(database.db)
    await createTestWebhook(ctx)
    for (const email of emails) await createTestContact(ctx, { email })
  }
  const query = async (name: string, statement: string) =>
    (await withAdminClient(server.url(name), (client) => client.query<Record<string, unknown>>(statement))).rows

  test('a restored backup has all rows, and its pending work is interrupted', async () => {
    await addContacts('ada@example.com', 'alan@example.com')
    const { printed, logged } = await backups.backUp({ verify: true })
    expect(logged).toMatch(/^\d+\.\d MB in \d+ (ms|s), not encrypted, verified$/)
    expect(basename(printed ?? '')).toMatch(/^rapport-\d{8}T\d{6}Z\.dump$/)
    await addContacts('grace@example.com')

    const restored = await backups.restore(printed ?? '', { into: 'restored' })
    expect(JSON.parse(restored.printed ?? '')).toEqual({
      database: 'restored',
      replaced: null,
      deliveries: 2,
      mails: 0,
      campaigns: 0,
      recipients: 0,
    })
    const emails = await query('restored', 'select email from contacts order by 1')
    expect(emails).toEqual([{ email: 'ada@example.com' }, { email: 'alan@example.com' }])
    const statuses = await query('restored', 'select distinct status from deliveries')
    expect(statuses).toEqual([{ status: 'INTERRUPTED' }])
    // A new database has no statistics of its own.
    const analyzed = await query('restored', `select reltuples from pg_class where relname = 'contacts'`)
    expect(analyzed).toEqual([{ reltuples: 2 }])
    expect(await server.listDatabases()).toEqual(['postgres', 'rapport', 'restored'])
    await query('postgres', 'drop database restored')
  })

  test('with BACKUP_KEY the file reveals nothing, and is restored with the key', async () => {
    await addContacts('mary@example.com')
    const { printed, logged } = await backups.backUp({ verify: true }, { BACKUP_KEY: backupKey })
    expect(logged).toContain(', encrypted, verified')
    expect(printed).toMatch(/\.dump\.age$/)
    const content = readFileSync(printed ?? '', 'latin1')
    expect(content.slice(0, 22)).toBe('age-encryption.org/v1\n')
    expect(content).not.toMatch(/PGDMP|contacts/)
    const { error } = await backups.restore(printed ?? '', { into: 'restored' }, { BACKUP_KEY: backupKey })
    expect(error).toBe(null)
    const found = await query('restored', `select email from contacts where email like 'mary@%'`)
    expect(found).toEqual([{ email: 'mary@example.com' }])
    await query('postgres', 'drop database restored')
  })

  test('a backup has the values of an email sealed while it waits, and not after its end', async () => {
    const ctx = await createTestCtx(database.db)
    const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
    const [row] = await query('rapport', `select sealed_data as sealed from emails where id = '${uuidOf(id)}'`)
    const dump = async () => {
      const { printed } = await backups.backUp()
      const options = { maxBuffer: 100 * 1024 * 1024, encoding: 'utf8' } as const
      return execFileSync(join(programs.folder ?? '', 'pg_restore'), ['--file=-', printed ?? ''], options)
    }
    const whileItWaits = await dump()
    expect(whileItWaits).toContain(row?.['sealed'])
    expect(whileItWaits).not.toContain('planted-link')
    const email = await claimTestEmail(ctx, id)
    if (email) await recordEmailOutcomes(ctx, [{ email, outcome: { kind: 'sent' } }])
    const detail = '554 5.7.1 blocked URL https://shop.example/reset/planted-link'
    const messageId = `<${id}@example.com>`
    await reportByClient(ctx, { type: 'BOUNCE', email: 'ada@example.com', permanent: false, messageId, detail })
    const afterItsEnd = await dump()
    expect(afterItsEnd).toContain('554 5.7.1 blocked URL [value]')
    expect(afterItsEnd).not.toContain('planted-link')
    expect(afterItsEnd).not.toContain(row?.['sealed'])
  })

  test('--json prints the file and its properties', async () => {
    const { printed } = await backups.backUp({ json: true })
    expect(JSON.parse(printed ?? '')).toEqual({
      file: join(backups.folder, backups.list()[0] ?? ''),
      bytes: statSync(join(backups.folder, backups.list()[0] ?? '')).size,
      durationMs: expect.any(Number) as number,
      isEncrypted: false,
      isVerified: false,
      removed: [],
    })
  })

  test('each backup is recorded, and only the current user can read its file', async () => {
    await database.pool.query('delete from backups')
    const { printed } = await backups.backUp({}, { BACKUP_KEY: backupKey })
    const { mode, size } = statSync(printed ?? '')
    expect(mode & 0o777).toBe(0o600)
    const { rows } = await database.pool.query("select *, created_at > now() - interval '1 min' as is_new from backups")
    expect(rows).toEqual([
      expect.objectContaining({
        file_name: basename(printed ?? ''),
        bytes: String(size),
        is_encrypted: true,
        is_verified: false,
        is_new: true,
      }),
    ])
  })

  test('the password is not in the arguments of a program', async () => {
    const log = join(backups.folder, 'arguments.log')
    const logged = (name: string) => ({
      name,
      script: `echo "${name} $@" >> ${log}\nexec ${programs.folder}/${name} "$@"`,
    })
    const { error } = await withProgram({ ...logged('pg_dump'), path: server.path }, (path) =>
      withProgram({ ...logged('pg_restore'), path }, (path) => backups.backUp({ verify: true }, { PATH: path })),
    )
    expect(error).toBe(null)
    const text = readFileSync(log, 'utf8')
    expect(text).toMatch(/pg_dump --format=custom[^]*pg_restore --no-owner/)
    expect(text).not.toMatch(/p@ss|p%40ss|application/)
  })

  test('--keep-days removes only older backups of this database', async () => {
    const old = (name: string) => `${name}-20200131T040000Z`
    const expired = [`${old('rapport')}.dump`, `${old('rapport')}.dump.age`]
    const leftover = `${old('rapport')}.dump.partial`
    const others = [
      `${old('other')}.dump`,
      `${old('rapport-test')}.dump`,
      `${old('rapport')}.dump.copy`,
      'rapport-20200131.dump',
      'rapport.dump',
    ]
    for (const name of [...expired, leftover, ...others]) writeFileSync(join(backups.folder, name), '')
    const first = await backups.backUp()
    expect(backups.list()).toEqual([...expired, ...others, basename(first.printed ?? '')].toSorted())
    const second = await backups.backUp({ 'keep-days': 1 })
    for (const name of expired) expect(second.logged).toContain(`removed ${name}`)
    // The name of a file has no fraction of a second.
    const kept = new Set([first, second].map(({ printed }) => basename(printed ?? '')))
    expect(backups.list()).toEqual([...others, ...kept].toSorted())
  })

  test('BACKUP_VERIFY_URL is the server of the test restore', async () => {
    const unreachable = { BACKUP_VERIFY_URL: 'postgres://127.0.0.1:1/postgres' }
    const { error } = await backups.backUp({ verify: true }, unreachable)
    expect(error).toMatch(/^The test restore failed[^]*PostgreSQL is unavailable: .*127.0.0.1:1/)
    expect((await backups.backUp({ verify: true }, { BACKUP_VERIFY_URL: server.url('postgres') })).error).toBe(null)
  })

  test('a backup before the first migration is not recorded', async () => {
    await query('postgres', 'create database fresh')
    const { printed, logged } = await backups.backUp({}, { DATABASE_URL: server.url('fresh') })
    expect(logged).toContain('The backup is not recorded, as migrations are pending.')
    expect(backups.list()).toEqual([basename(printed ?? '')])
    await query('postgres', 'drop database fresh')
  })

  test('a folder is required, and its parent must exist', async () => {
    const missing = join(backups.folder, 'one/two')
    expect((await backups.backUp({ directory: missing })).error).toBe(
      `--directory: ${missing} cannot be written (its parent folder does not exist)`,
    )
    expect((await backups.backUp({ directory: undefined })).error).toBe(
      '--directory: is required, or set BACKUP_DIRECTORY',
    )
  })
}
