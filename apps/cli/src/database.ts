import { randomUUID } from 'node:crypto'
import { readApiConfig, readMigrateConfig } from '@rapport/core/runtime/config.ts'
import { type BaseCtx, type Ctx, settingsFrom } from '@rapport/core/request/context.ts'
import { assertUpgradable } from '@rapport/core/db/migrate.ts'
import { assertSupportedServer } from '@rapport/core/db/server-version.ts'
import { type Database, type Db, openDatabase } from '@rapport/core/db/client.ts'
import { readKeyState, wrongKeyError } from '@rapport/core/installation/key-check.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { readDeletedAt } from '@rapport/core/request/workspace-state.ts'
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
    await assertUpgradable(database.db)
    return await work(database)
  } finally {
    await database.close()
  }
}

/**
 * Like `withDatabase`, with the context for functions of core that act for the operator. Throws a ConfigError if
 * SECRET_KEY is wrong.
 */
export function withOperator<Result>(cli: CliContext, work: (ctx: BaseCtx) => Promise<Result>): Promise<Result> {
  const settings = settingsFrom(readApiConfig(cli.environment))
  return withDatabase(cli, async ({ db }) => {
    if ((await readKeyState(db, settings.keys)) === 'wrong') throw wrongKeyError(settings.keys)
    return work({ db, settings, requestId: `command ${randomUUID()}` })
  })
}

/** Like `withOperator`, in one workspace. Throws if it does not exist. */
export function withWorkspace<Result>(
  cli: CliContext,
  workspaceId: WorkspaceId,
  work: (ctx: Ctx) => Promise<Result>,
): Promise<Result> {
  return withOperator(cli, async (base) => {
    const ctx: Ctx = { ...base, workspaceId, actor: { kind: 'system' } }
    await requireWorkspace(ctx)
    return work(ctx)
  })
}

/** Like `withDatabase`, for what reads one workspace or all. Throws if the workspace is given and does not exist. */
export function withDatabaseOf<Result>(
  cli: CliContext,
  workspaceId: WorkspaceId | undefined,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  return withDatabase(cli, async ({ db }) => {
    if (workspaceId) await requireWorkspace({ db, workspaceId })
    return work(db)
  })
}

async function requireWorkspace(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<void> {
  const record = `Workspace ${ctx.workspaceId}`
  const deletedAt = await readDeletedAt(ctx)
  if (deletedAt === undefined) throw notFoundById(record, 'rapport workspace list')
  if (deletedAt !== null) throw new AppError('not_found', `${record} not found: it was deleted at ${deletedAt}.`)
}

/** The error for an unknown id. `command` lists the ids that exist. */
const notFoundById = (record: string, command: string) =>
  new AppError('not_found', `${record} not found. "${command}" lists the ids.`)

/** For `.catch`: replaces "not found" of core, which names neither the id nor the command that finds it. */
export const namingId = (record: string, command: string) => (error: unknown) => {
  throw error instanceof AppError && error.code === 'not_found' ? notFoundById(record, command) : error
}
