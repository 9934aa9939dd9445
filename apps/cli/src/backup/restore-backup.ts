/** Restores a backup under another name, and gives the database its name when it is ready. */
import { databaseOf, urlOfDatabase } from '@rapport/core/backups/connection.ts'
import { type DatabaseServer, type DatabaseState, openServer } from '@rapport/core/backups/server-databases.ts'
import { directUrlOf, missingDirectUrl } from '@rapport/core/db/pooler.ts'
import { readKeyState } from '@rapport/core/installation/key-check.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { prepareRestoredDatabase } from '@rapport/core/operations/recovery/prepare-restored-database.ts'
import type { InterruptedWorkCounts } from '@rapport/core/operations/recovery/restored-backup.ts'
import { inspectEnvironment, readBackupConfig } from '@rapport/core/runtime/config.ts'
import { type CliContext, CommandFailed } from '../command.ts'
import { withDatabase } from '../database.ts'
import { describeError } from '../describe-error.ts'
import { formatBytes } from '../terminal.ts'
import { openDumpSource } from './dump-source.ts'
import { prepareRestore } from './restore-dump.ts'
import { scratchName } from './scratch-name.ts'

export interface RestoreOptions {
  file: string
  /** The name of the database; undefined: that of DATABASE_URL. */
  into: string | undefined
  /** Whether to rename a database that is not empty. */
  replace: boolean
}

export interface RestoredBackup extends InterruptedWorkCounts {
  database: string
  /** The new name of the database that was replaced. */
  replaced: string | null
}

/**
 * No worker can connect to the database before it has its name. At this point it is complete and migrated, and its
 * pending work is interrupted. If anything fails before, nothing is left.
 */
export async function restoreBackup(cli: CliContext, options: RestoreOptions): Promise<RestoredBackup> {
  const config = readBackupConfig(cli.environment)
  const source = await openDumpSource(options.file, config.BACKUP_KEY)
  const url = directUrlOf(config)
  const database = options.into ?? databaseOf(url)
  const server = await openServer(url)
  try {
    if (server.isBehindPooler && config.DATABASE_DIRECT_URL === undefined) throw missingDirectUrl('a restore')
    await server.lock(database)
    const content = await inspectTarget(server, database, options)
    const restore = await prepareRestore(source, {
      server,
      url,
      environment: cli.environment,
      signal: cli.stopping,
      onBytes: (bytes) => cli.terminal.showProgress(`${formatBytes(bytes)} of ${formatBytes(source.bytes)} restored`),
    })
    const unfinished = scratchName(database, '_unfinished_restore')
    await restore(unfinished, content === 'empty' ? { like: database } : {})
    const counts = await prepareDatabase(cli, urlOfDatabase(url, unfinished)).catch(async (error: unknown) => {
      await server.discard(unfinished)
      throw error
    })
    const replaced = content === 'filled' ? scratchName(database, `_replaced_${timestamp()}`) : null
    await giveName(server, { unfinished, database, replaced, isEmpty: content === 'empty' })
    return { database, replaced, ...counts }
  } finally {
    await server.close()
  }
}

const timestamp = () => new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)

/** Fails if the restore would destroy data, or could not take the place of a database that is in use. */
async function inspectTarget(
  server: DatabaseServer,
  database: string,
  { replace }: RestoreOptions,
): Promise<DatabaseState['content']> {
  const { content, connections } = await server.inspect(database)
  if (content === 'filled' && !replace) {
    throw new CommandFailed(
      `The database "${database}" is not empty. Use --replace to rename it and take its place, or --into <name> to ` +
        'restore into another database.',
    )
  }
  if (connections > 0) {
    const others = connections === 1 ? 'a connection' : `${connections} connections`
    throw new CommandFailed(`The database "${database}" has ${others}: stop all APIs and workers, and try again`)
  }
  return content
}

/** Warns if SECRET_KEY is wrong: the backup may be of another installation, or of a time before a rotation. */
async function prepareDatabase(
  { environment, terminal }: CliContext,
  databaseUrl: string,
): Promise<InterruptedWorkCounts> {
  const counts = await prepareRestoredDatabase(databaseUrl)
  const { SECRET_KEY, SECRET_KEY_PREVIOUS } = inspectEnvironment(environment).config
  if (SECRET_KEY === undefined) return counts
  const keys = deriveKeys(SECRET_KEY, SECRET_KEY_PREVIOUS)
  const restored = { environment: { ...environment, DATABASE_URL: databaseUrl } }
  const state = await withDatabase(restored, ({ db }) => readKeyState(db, keys))
  if (state === 'wrong') terminal.log(wrongKeyWarning)
  return counts
}

const wrongKeyWarning =
  'Warning: SECRET_KEY is not the key of the backup. APIs and workers exit with code 78 until you set that key, or add ' +
  'it to SECRET_KEY_PREVIOUS. If it is lost, see docs/key-rotation.md.'

/** The last step. If it fails, the restored database is kept. */
async function giveName(
  server: DatabaseServer,
  names: { unfinished: string; database: string; replaced: string | null; isEmpty: boolean },
): Promise<void> {
  const { unfinished, database, replaced, isEmpty } = names
  try {
    if (isEmpty) await server.drop(database)
    await server.nameRestored(unfinished, database, replaced)
  } catch (error) {
    throw new CommandFailed(
      `The backup is restored into "${unfinished}", which is complete, but could not be renamed to "${database}".\n` +
        `${describeError(error)}\n` +
        'Stop all programs that use the database and rename it with ALTER DATABASE. The next restore drops it.',
    )
  }
}
