/** Rewrites `previous-release.sql` for the newest migration when a release is made: see docs/upgrade.md. */
import { rm, writeFile } from 'node:fs/promises'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import pg from 'pg'
import { createDataFolder } from '../postgres/data-folder.ts'
import { dumpRows } from './dump-rows.ts'
import {
  migrateUntil,
  readMigrations,
  readTables,
  previousReleasePath,
  restorePreviousRelease,
} from './previous-release.ts'

const directory = await createDataFolder('rapport-previous-release-')
const postgres = await startEmbeddedPostgres({ directory, durable: false })
try {
  await ensureDatabase(postgres, 'previous_release')
  await writeRelease(postgres.url('previous_release'))
} finally {
  await postgres.stop()
  await rm(directory, { recursive: true, force: true })
}

async function writeRelease(connectionString: string): Promise<void> {
  const pool = new pg.Pool({ connectionString, max: 1 })
  try {
    await restorePreviousRelease(pool)
    const newest = (await readMigrations()).at(-1)?.tag ?? ''
    await migrateUntil(pool, newest)
    const tables = await readTables(pool)
    await writeFile(previousReleasePath, `${toHeader(newest)}\n${dumpRows(tables)}`)
    const empty = tables.filter(({ rows }) => rows.length === 0).map(({ table }) => table)
    const missing = empty.length > 0 ? `Insert rows by hand into: ${empty.join(', ')}.\n` : ''
    process.stdout.write(`previous-release.sql has the rows of ${tables.length} tables as of ${newest}.\n${missing}`)
  } finally {
    await pool.end()
  }
}

function toHeader(migration: string): string {
  return [
    '-- Rows of the previous release in every table: see "Test an upgrade" in docs/upgrade.md.',
    `-- Last migration: ${migration}`,
    '',
  ].join('\n')
}
