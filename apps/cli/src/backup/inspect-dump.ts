import { text } from 'node:stream/consumers'
import { assertFirstMigration, newestMigration } from '@rapport/core/db/migrate.ts'
import { CommandFailed } from '../command.ts'
import type { ClientProgram } from './client-programs.ts'
import type { DumpSource } from './dump-source.ts'
import { startProgram } from './run-program.ts'

/**
 * Reads the beginning of a dump: its description, and the table of migrations, which is stored before the large tables.
 * Fails if the dump cannot be restored: by this version of pg_restore, or by this release of Rapport. Returns the options
 * of CREATE DATABASE: the encoding and the locale of the original.
 */
export async function inspectDump(
  source: DumpSource,
  program: ClientProgram,
  options: { environment: Record<string, string | undefined>; signal: AbortSignal },
): Promise<string> {
  const script = await readScript(source, program, options).catch((error: unknown) => {
    const isTooNew = error instanceof CommandFailed && error.message.includes('unsupported version')
    if (!isTooNew) throw error
    throw new CommandFailed(
      `${source.path} was made by a newer pg_dump than pg_restore ${program.version} can read. Install the client programs ` +
        'of the version that it was made with; if they are not on the PATH, set PG_DUMP.',
    )
  })
  assertOwnRelease(source.path, script)
  return createDatabase.exec(script)?.[1] ?? ''
}

/** Only names, words and quoted values, as pg_dump writes them. */
const createDatabase = /^CREATE DATABASE .* WITH TEMPLATE = template0((?: [A-Z_]+ = (?:\w+|'[^']*'))*);$/m

const migrationsTable = ['--schema=drizzle', '--table=__drizzle_migrations']

async function readScript(
  source: DumpSource,
  program: ClientProgram,
  options: { environment: Record<string, string | undefined>; signal: AbortSignal },
): Promise<string> {
  const parameters = ['--create', ...migrationsTable, '--file=-']
  const restore = startProgram(program, parameters, { ...options, input: { chunks: source.read(), isWhole: false } })
  const script = await text(restore.stdout)
  await restore.exited
  return script
}

function assertOwnRelease(path: string, script: string): void {
  const migrations = [...script.matchAll(/^(\d+)\t([0-9a-f]{64})\t(\d+)$/gm)]
    .map(([, id, hash = '', time]) => ({ id: Number(id), hash, time: Number(time) }))
    .toSorted((one, other) => one.id - other.id)
  const [first] = migrations
  if (!first) throw new CommandFailed(`${path} is not a backup of Rapport: it has no migrations`)
  assertFirstMigration(first.hash)
  if (Math.max(...migrations.map(({ time }) => time)) <= newestMigration) return
  throw new CommandFailed(
    `${path} was made by a newer release of Rapport. Restore it with that release or a newer one.`,
  )
}
