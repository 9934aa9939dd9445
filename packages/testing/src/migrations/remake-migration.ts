/**
 * `pnpm db:remake`: makes the one migration anew, from the schema and `hand-written-sql.ts`. Only before the first tag:
 * from then on, `pnpm db:generate` adds a migration.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { addHandWrittenSql } from './hand-written-sql.ts'

const root = resolve(import.meta.dirname, '../../../..')
const name = 'schema'
const files = { sql: `0000_${name}.sql`, snapshot: 'meta/0000_snapshot.json', journal: 'meta/_journal.json' }

/** Constants in place of a random id and the time, so that the same schema gives the same files. */
const snapshotId = '00000000-0000-4000-8000-000000000001'
const when = Date.UTC(2026, 10, 1)

/** Writes the migration into `folder`, which must not have one. */
export async function writeMigration(folder: string): Promise<void> {
  const schema = ['--schema=packages/core/src/db/schema/index.ts', '--dialect=postgresql', '--casing=snake_case']
  const parameters = ['generate', ...schema, `--out=${folder}`, `--name=${name}`]
  await promisify(execFile)(join(root, 'node_modules/.bin/drizzle-kit'), parameters, { cwd: root })
  const read = (file: keyof typeof files) => readFile(join(folder, files[file]), 'utf8')
  const write = (file: keyof typeof files, text: string) => writeFile(join(folder, files[file]), text)
  await write('sql', addHandWrittenSql(await read('sql')))
  await write('snapshot', (await read('snapshot')).replace(/"id": "[^"]+"/, `"id": "${snapshotId}"`))
  await write('journal', (await read('journal')).replace(/"when": \d+/, `"when": ${when}`))
}

async function main(): Promise<void> {
  const folder = join(root, 'drizzle')
  const temporary = await mkdtemp(join(tmpdir(), 'rapport-migration-'))
  try {
    await writeMigration(temporary)
    await rm(folder, { recursive: true, force: true })
    await cp(temporary, folder, { recursive: true })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
