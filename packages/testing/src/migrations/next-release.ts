/** The next release: a copy of the repository with one more migration, for tests of upgrades. */
import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../../../..')
const copied = ['apps', 'bin', 'docs', 'drizzle', 'packages', 'CHANGELOG.md', 'package.json']

/** Like the ALTER TABLE of many releases: it rewrites nothing, and locks a table that requests write to. */
const migration = `ALTER TABLE "contacts" ADD COLUMN "of_next_release" text DEFAULT '' NOT NULL;`

export interface NextRelease {
  readonly directory: string
  close(): Promise<void>
}

export async function makeNextRelease(): Promise<NextRelease> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'rapport-next-release-')))
  for (const name of copied) {
    await cp(join(root, name), join(directory, name), { recursive: true, verbatimSymlinks: true })
  }
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
  await addMigration(join(directory, 'drizzle'))
  return { directory, close: () => rm(directory, { recursive: true }) }
}

async function addMigration(folder: string): Promise<void> {
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8')) as { entries: { idx: number; when: number; tag: string }[] }
  const last = journal.entries.at(-1)
  if (!last) throw new Error(`${path} has no entries`)
  const tag = `${String(last.idx + 1).padStart(4, '0')}_next_release`
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1, tag })
  await writeFile(path, JSON.stringify(journal))
  await writeFile(join(folder, `${tag}.sql`), migration)
}
