/** Makes a backup: a dump in a new file, which gets its name when it is complete and, on request, verified. */
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { recordBackup } from '@rapport/core/backups/backup-records.ts'
import { type BackupSession, openBackupSession } from '@rapport/core/backups/backup-session.ts'
import type { DatabaseContents } from '@rapport/core/backups/database-contents.ts'
import type { Db } from '@rapport/core/db/client.ts'
import { listConnectedPrograms, readDistribution } from '@rapport/core/db/distribution/distribute.ts'
import { directUrlOf, requireDirectUrl } from '@rapport/core/db/pooler.ts'
import { type BackupConfig, readBackupConfig } from '@rapport/core/runtime/config.ts'
import { type CliContext, CommandFailed } from '../command.ts'
import { withDatabase } from '../database.ts'
import { describeError } from '../describe-error.ts'
import { formatBytes } from '../terminal.ts'
import { backupName, partialName, removeExpired, removeLeftovers } from './backup-files.ts'
import { findClientProgram } from './client-programs.ts'
import { connectionEnvironment } from './connection-environment.ts'
import { openDumpSource } from './dump-source.ts'
import { prepareFolder, syncFolder } from './folder.ts'
import { verifyBackup } from './verify-backup.ts'
import { writeDump } from './write-dump.ts'
import { timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

export interface BackupOptions {
  directory: string | undefined
  keepDays: number | undefined
  verify: boolean
}

export interface CreatedBackup {
  file: string
  bytes: number
  durationMs: number
  isEncrypted: boolean
  isVerified: boolean
  /** The names of the expired backups that were removed. */
  removed: string[]
}

interface Job {
  cli: CliContext
  config: BackupConfig
  session: BackupSession
  directory: string
}

export async function createBackup(cli: CliContext, options: BackupOptions): Promise<CreatedBackup> {
  const config = readBackupConfig(cli.environment)
  const directory = await prepareFolder(options.directory ?? config.BACKUP_DIRECTORY)
  const url = await requireDirectUrl(config, 'a backup')
  await withDatabase(cli, ({ db }) => assertCommonSnapshot(db))
  const session = await openBackupSession(url)
  try {
    return await run({ cli, config, session, directory }, options)
  } finally {
    await session.close()
  }
}

/** The servers of a Citus cluster have no common snapshot: rows that are written meanwhile might not match others. */
async function assertCommonSnapshot(db: Db): Promise<void> {
  if (!(await readDistribution(db))?.isDistributed) return
  const names = (await listConnectedPrograms(db)).filter((name) => name !== 'rapport backup')
  if (names.length === 0) return
  throw new CommandFailed(
    'The database is distributed: its servers have no common snapshot. Stop all APIs and workers first, or back up ' +
      `each server as docs/scaling.md describes. These are connected: ${names.join(', ')}`,
  )
}

async function run(job: Job, { keepDays, verify }: BackupOptions): Promise<CreatedBackup> {
  const { config, session, directory } = job
  const startedAt = performance.now()
  const isEncrypted = config.BACKUP_KEY !== undefined
  await removeLeftovers(directory, session.database)

  const name = backupName(session.database, session.createdAt, { isEncrypted })
  const file = join(directory, name)
  const partial = partialName(file)
  const { bytes, contents } = await dump(job, { path: partial, shouldCount: verify })
  if (contents) await verifyFile(job, { path: partial, contents })
  await rename(partial, file)
  await syncFolder(directory)

  const durationMs = Math.round(performance.now() - startedAt)
  const { createdAt } = session
  await record(job, { fileName: name, bytes, durationMs, isEncrypted, isVerified: verify, createdAt })
  const before = timestampAt(Date.parse(createdAt) - (keepDays ?? 0) * 86_400_000)
  const removed = keepDays === undefined ? [] : await removeExpired(directory, session.database, { before })
  return { file, bytes, durationMs, isEncrypted, isVerified: verify, removed }
}

/** Writes the dump to a new file. With `shouldCount`, counts the rows of the same snapshot. */
async function dump(
  { cli, config, session }: Job,
  { path, shouldCount }: { path: string; shouldCount: boolean },
): Promise<{ bytes: number; contents: DatabaseContents | undefined }> {
  const program = await findClientProgram('pg_dump', session, cli.environment)
  if (shouldCount) await findClientProgram('pg_restore', session, cli.environment)
  const counting = shouldCount ? session.readContents() : undefined
  // If the dump fails first, its error is the one to report.
  counting?.catch(() => {})
  const bytes = await writeDump(path, {
    program,
    environment: connectionEnvironment(directUrlOf(config), cli.environment),
    snapshot: session.snapshot,
    extensions: session.extensions,
    key: config.BACKUP_KEY,
    signal: cli.stopping,
    onBytes: (bytes) => cli.terminal.showProgress(`${formatBytes(bytes)} written`),
  })
  await withDatabase(cli, ({ db }) => assertCommonSnapshot(db))
  const contents = await counting
  await session.releaseSnapshot()
  return { bytes, contents }
}

/** Makes a test restore of the file. If it fails, the file remains until the next backup. */
async function verifyFile(
  { cli, config, session }: Job,
  { path, contents }: { path: string; contents: DatabaseContents },
): Promise<void> {
  try {
    const source = await openDumpSource(path, config.BACKUP_KEY)
    await verifyBackup(
      source,
      { database: session.database, contents },
      {
        url: config.BACKUP_VERIFY_URL ?? directUrlOf(config),
        environment: cli.environment,
        signal: cli.stopping,
        onBytes: (bytes) => cli.terminal.showProgress(`${formatBytes(bytes)} of ${formatBytes(source.bytes)} restored`),
      },
    )
  } catch (error) {
    const problem = `The test restore failed, so ${path} does not count as a backup: the next backup removes it.`
    throw new CommandFailed(`${problem}\n${describeError(error)}`)
  }
}

async function record({ cli }: Job, backup: Parameters<typeof recordBackup>[1]): Promise<void> {
  const isRecorded = await withDatabase(cli, ({ db }) => recordBackup(db, backup)).catch((error: unknown) => {
    throw new CommandFailed(`${backup.fileName} is complete, but could not be recorded.\n${describeError(error)}`)
  })
  if (!isRecorded) cli.terminal.log('The backup is not recorded, as migrations are pending.')
}
