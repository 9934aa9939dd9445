import { urlOfDatabase } from '@rapport/core/backups/connection.ts'
import type { DatabaseServer } from '@rapport/core/backups/server-databases.ts'
import { CommandFailed } from '../command.ts'
import { type ClientProgram, findClientProgram } from './client-programs.ts'
import { connectionEnvironment } from './connection-environment.ts'
import type { DumpSource } from './dump-source.ts'
import { inspectDump } from './inspect-dump.ts'
import { startProgram } from './run-program.ts'

export interface RestoreTarget {
  server: DatabaseServer
  /** The URL of any database of the server. */
  url: string
  /** The environment of the command. */
  environment: Record<string, string | undefined>
  signal: AbortSignal
  onBytes?: (read: number) => void
}

/** Restores the dump into a new database. If it fails, there is no database. */
export type Restore = (name: string, options?: { like?: string }) => Promise<void>

/**
 * Checks whether a dump can be restored on this server: by its client programs and by this release. The new database
 * gets the encoding and locale of the original, or those of the empty database `like`.
 */
export async function prepareRestore(source: DumpSource, target: RestoreTarget): Promise<Restore> {
  const { server, url, environment, signal } = target
  const program = await findClientProgram('pg_restore', server, environment)
  const databaseOptions = await inspectDump(source, program, {
    environment: connectionEnvironment(url, environment),
    signal,
  })
  return async (name, { like } = {}) => {
    await server.create(name, like === undefined ? { options: databaseOptions } : { database: like })
    try {
      await restoreDump(source, { ...target, program, url: urlOfDatabase(url, name), name })
    } catch (error) {
      await server.discard(name)
      throw error
    }
  }
}

/** Grants to other roles are left out: the roles may not exist on this server. */
const parameters = ['--no-owner', '--no-privileges', '--no-password']
/**
 * A pg_restore of version 17 or newer changes this setting, also on a server that does not have it. Without
 * --exit-on-error, it goes on after this error and reports that it has ignored one.
 */
const hasIgnoredSetting =
  /unrecognized configuration parameter "transaction_timeout"\n[^]*errors ignored on restore: 1$/

export async function restoreDump(
  source: DumpSource,
  { program, name, ...target }: RestoreTarget & { program: ClientProgram; name: string },
): Promise<void> {
  const { server, url, environment, signal, onBytes } = target
  const mayIgnore = program.majorVersion >= 17 && server.majorVersion < 17
  const restore = startProgram(
    program,
    // A connection string, as a name with "=" would be read as one.
    [
      ...parameters,
      ...(mayIgnore ? [] : ['--exit-on-error']),
      `--dbname=dbname='${name.replaceAll(/['\\]/g, '\\$&')}'`,
    ],
    {
      environment: connectionEnvironment(url, environment),
      signal,
      input: { chunks: source.read(onBytes), isWhole: true },
    },
  )
  await restore.exited.catch((error: unknown) => {
    if (!mayIgnore || !(error instanceof CommandFailed) || !hasIgnoredSetting.test(error.message)) throw error
  })
}
