import { randomUUID } from 'node:crypto'
import { readApiConfig, readMigrateConfig } from '@rapport/core/runtime/config.ts'
import { type BaseCtx, settingsFrom } from '@rapport/core/request/context.ts'
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { assertSupportedServer } from '@rapport/core/db/server-version.ts'
import type { CliContext } from './command.ts'

/** Runs `work` with a connection pool for DATABASE_URL. A lost connection only fails the statement that uses it. */
export async function withDatabase<Result>(
  { environment }: Pick<CliContext, 'environment'>,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL } = readMigrateConfig(environment)
  const database = openDatabase(DATABASE_URL, { applicationName: 'rapport command', onError: () => {} })
  try {
    await assertSupportedServer(database.db)
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Like `withDatabase`, with the context for functions of core that act for the operator. */
export function withOperator<Result>(cli: CliContext, work: (ctx: BaseCtx) => Promise<Result>): Promise<Result> {
  const settings = settingsFrom(readApiConfig(cli.environment))
  return withDatabase(cli, ({ db }) => work({ db, settings, requestId: `command ${randomUUID()}` }))
}
