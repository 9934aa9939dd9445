/** The oldest PostgreSQL that Rapport supports, for the tests that also run on it. */
import { dirname, join } from 'node:path'
import { type PostgresBinaries, runCommand } from '@rapport/embedded-postgres/binaries.ts'
import { findProgram, unpackDebianPackage } from '../processes/debian-package.ts'

const installed = [
  '/usr/lib/postgresql/15/bin/postgres',
  '/opt/homebrew/opt/postgresql@15/bin/postgres',
  '/usr/local/opt/postgresql@15/bin/postgres',
]
const folder = 'usr/lib/postgresql/15/bin'

/** Returns the programs of PostgreSQL 15: installed, or unpacked from the Debian package. Undefined if neither is possible. */
export async function findPostgres15(): Promise<PostgresBinaries | undefined> {
  const found = await findBinaries()
  if (!found) console.log('The tests on PostgreSQL 15 are skipped: it is not installed and cannot be unpacked here.')
  return found
}

async function findBinaries(): Promise<PostgresBinaries | undefined> {
  const otherPrograms = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore'].map((name) => `${folder}/${name}`)
  const postgres =
    (await findProgram(installed)) ??
    (await unpackDebianPackage({ name: 'postgresql-15', program: `${folder}/postgres`, otherPrograms }))
  if (postgres === undefined) return undefined
  const binaries = dirname(postgres)
  const found = { postgres, initdb: join(binaries, 'initdb'), pg_ctl: join(binaries, 'pg_ctl') }
  // The server does not run as root, and another account may have no access to the folder of the project.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const { code } = await runCommand(postgres, ['--version'], { account, directory: '/' })
  return code === 0 ? found : undefined
}
