import { join } from 'node:path'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { NewContact } from '@rapport/core/contacts/contacts.schema.ts'
import { readContact } from '@rapport/core/contacts/read-contact.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { readDistribution } from '@rapport/core/db/distribution/distribute.ts'
import { coordinatorTables, referenceTables } from '@rapport/core/db/distribution/table-groups.ts'
import { createTestCtx, createTestTask } from '@rapport/testing/fixtures/factories.ts'
import { createUndistributedDatabase } from '@rapport/testing/postgres/citus.ts'
import { createTestDatabase, databaseUrl, withAdminClient } from '@rapport/testing/postgres/database.ts'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openBackupFolder } from './backup/testing.ts'
import { formatCount } from './terminal.ts'
import { runCommandLine, runDoctor } from './testing.ts'

const isOnCitus = inject('testServices').nodeUrls.length > 1
const open = (url: string, applicationName: string) => openDatabase(url, { applicationName, onError: () => {} })

test.skipIf(isOnCitus)('a database without the extension is refused, and the doctor is silent', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  await expect(runCommandLine(database.url, ['distribute'])).rejects.toThrow('does not have the extension "citus"')
  const findings = await runDoctor({ DATABASE_URL: database.url })
  expect(findings('Citus')).toEqual([])
})

// CITUS_DATABASE_URL: see CONTRIBUTING.md.
test.skipIf(!isOnCitus)('a database is distributed with its rows, while nothing is connected', async () => {
  const database = await createUndistributedDatabase()
  onTestFinished(() => database.close())
  const client = open(database.url, 'test')
  onTestFinished(() => client.close())
  const ctx = await createTestCtx(client.db)
  const contact = await createContact(ctx, NewContact.parse({ email: 'ada@example.com' }))
  await createTestTask(ctx, { contactId: contact.id })
  expect((await runDoctor({ DATABASE_URL: database.url }))('Citus')).toEqual([
    expect.stringContaining('warn: not distributed: workspaces, users'),
  ])

  const api = open(database.url, 'rapport api')
  await api.pool.query('select 1')
  await expect(runCommandLine(database.url, ['distribute'])).rejects.toThrow('These are connected: rapport api')
  await api.close()
  const planned = await runCommandLine(database.url, ['distribute', '--dry-run'])
  expect(planned.stderr).toContain(`Tables to copy to every server: ${referenceTables.join(', ')}\n`)
  expect(planned.stderr).toContain(`Tables that stay on the coordinator: ${coordinatorTables.join(', ')}`)
  expect(planned.stdout).toMatch(/^\d+ tables would be moved/)

  const { stdout } = await runCommandLine(database.url, ['distribute', '--json'])
  const moved = JSON.parse(stdout) as Record<'nodes' | 'reference' | 'distributed', string[]>
  expect(moved.reference).toEqual(referenceTables)
  expect(moved.distributed).toEqual(expect.arrayContaining(['contacts', 'events', 'deliveries', 'work']))
  expect(await readContact(ctx, contact.id)).toMatchObject({ email: 'ada@example.com' })
  const localCopies = 'select sum(pg_relation_size(logicalrelid))::int as bytes from pg_dist_partition'
  expect((await client.pool.query(localCopies)).rows).toEqual([{ bytes: 0 }])
  expect((await runDoctor({ DATABASE_URL: database.url }))('Citus')).toEqual([
    `ok: the workspaces are on ${formatCount(moved.nodes.length, 'server')}: ${moved.nodes.join(', ')}`,
  ])
  expect((await runCommandLine(database.url, ['distribute'])).stdout).toBe('Every table is where it belongs.')
})

test.skipIf(!isOnCitus)('a cluster is backed up while nothing is connected, and restored to one server', async () => {
  const database = await createTestDatabase()
  const client = open(database.url, 'test')
  const ctx = await createTestCtx(client.db)
  const contact = await createContact(ctx, NewContact.parse({ email: 'ada@example.com' }))
  await client.close()
  const backups = openBackupFolder({ DATABASE_URL: database.url })

  const api = open(database.url, 'rapport api')
  await api.pool.query('select 1')
  expect((await backups.backUp()).error).toContain('These are connected: rapport api')
  await api.close()
  expect(await backups.backUp({ verify: true })).toMatchObject({ error: null })

  const into = `${new URL(database.url).pathname.slice(1)}_restored`
  const file = join(backups.folder, backups.list()[0] ?? '')
  expect(await backups.restore(file, { into })).toMatchObject({ error: null })
  const restored = open(databaseUrl(database.url, into), 'rapport test')
  onTestFinished(async () => {
    await restored.close()
    await withAdminClient(database.url, (client) => client.query(`drop database ${into} with (force)`))
    await database.close()
    backups.close()
  })
  expect(await readContact({ ...ctx, db: restored.db }, contact.id)).toMatchObject({ email: 'ada@example.com' })
  expect(await readDistribution(restored.db)).toBeUndefined()
})
