/** Servers for the tests of backups, which need pg_dump. The PostgreSQL from npm does not include it. */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openDatabase } from '@rapport/core/db/client.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import type { PostgresBinaries } from '@rapport/embedded-postgres/binaries.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { findProgram } from '../processes/debian-package.ts'
import { waitUntil } from '../wait.ts'
import { createDataFolder } from './data-folder.ts'
import { databaseUrl, type TestDatabase, withAdminClient } from './database.ts'
import { findPostgres15 } from './postgres-15.ts'
import { cachedTemplate, copyTemplateCluster } from './template-cluster.ts'

export interface BackupServerPrograms {
  majorVersion: number
  /** The folder of pg_dump and pg_restore; undefined: this machine does not have this version of them. */
  folder: string | undefined
  /** Undefined: the PostgreSQL from npm. */
  binaries: PostgresBinaries | undefined
}

/** The oldest and the newest supported version. A machine may lack the client programs of one, or of both. */
export async function findBackupServers(): Promise<BackupServerPrograms[]> {
  const [binaries, newest] = await Promise.all([findPostgres15(), findNewestDump()])
  const oldest = binaries && (await findProgram([join(dirname(binaries.postgres), 'pg_dump')]))
  return [
    { majorVersion: 15, folder: oldest && dirname(oldest), binaries },
    { majorVersion: 18, folder: newest && dirname(newest), binaries: undefined },
  ]
}

/** The oldest version whose client programs this machine has. */
export async function findBackupServer(): Promise<BackupServerPrograms | undefined> {
  return (await findBackupServers()).find(({ folder }) => folder !== undefined)
}

async function findNewestDump(): Promise<string | undefined> {
  const installed = ['/usr/lib/postgresql/18', '/opt/homebrew/opt/postgresql@18', '/usr/local/opt/postgresql@18']
  for (const candidate of ['pg_dump', ...installed.map((folder) => `${folder}/bin/pg_dump`)]) {
    const path = await findProgram([candidate])
    if (path && (await promisify(execFile)(path, ['--version'])).stdout.includes(') 18')) return path
  }
  console.log('The tests of backups on PostgreSQL 18 are skipped: its pg_dump is not installed here.')
  return undefined
}

export interface BackupServer {
  /** A PATH with the client programs. */
  readonly path: string
  /** The database "postgres", as superuser. */
  readonly adminUrl: string
  /** As a role that is no superuser, and may create databases. */
  url(database: string): string
  /** Creates a migrated database. */
  createDatabase(name: string): Promise<TestDatabase>
  /** The names of the databases that are no templates. */
  listDatabases(): Promise<string[]>
  close(): Promise<void>
}

/** Starts a server of this version. */
export async function startBackupServer(programs: BackupServerPrograms | undefined): Promise<BackupServer> {
  const { folder, binaries } = programs ?? {}
  if (folder === undefined) throw new Error('The client programs of this version are missing')
  const directory = await createDataFolder('rapport-backup-')
  await copyTemplateCluster(directory, binaries)
  const postgres = await startEmbeddedPostgres({ directory, durable: false, ...(binaries && { binaries }) })
  const adminUrl = postgres.url('postgres')
  const administer = (statement: string) =>
    withAdminClient(adminUrl, (client) => client.query<{ datname: string }>(statement))
  // Its tables belong to the superuser.
  await administer(`drop database ${cachedTemplate}`)
  await administer(`create role application login createdb password 'p@ss:word/'`)
  const url = (database: string) => {
    const own = new URL(databaseUrl(adminUrl, database))
    own.username = 'application'
    own.password = encodeURIComponent('p@ss:word/')
    return own.href
  }
  // A closed connection remains listed for a moment, and a restore rejects a database that is in use.
  const isUnused = async (name: string) => {
    const statement = `select from pg_stat_activity where datname = '${name}' and backend_type = 'client backend'`
    return (await administer(statement)).rowCount === 0
  }
  await administer('create database template_migrated owner application')
  await migrate(url('template_migrated'))
  return {
    path: `${folder}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    adminUrl,
    url,
    async createDatabase(name) {
      await administer(`create database ${name} template template_migrated owner application`)
      const opened = openDatabase(url(name), { applicationName: 'rapport test', onError: () => {} })
      const close = async () => {
        await opened.close()
        await waitUntil(() => isUnused(name), { describe: 'all connections are closed' })
      }
      return { ...opened, url: url(name), close }
    },
    async listDatabases() {
      const { rows } = await administer(
        `select datname from pg_database where not datistemplate and datname <> 'template_migrated' order by 1`,
      )
      return rows.map(({ datname }) => datname)
    },
    async close() {
      await postgres.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
