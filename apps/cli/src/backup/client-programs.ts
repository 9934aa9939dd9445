/** Finds pg_dump and pg_restore: on the PATH, or beside the pg_dump that PG_DUMP names. */
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CommandFailed } from '../command.ts'

type ProgramName = 'pg_dump' | 'pg_restore'

export interface ClientProgram {
  path: string
  /** As the program prints it: "18.4". */
  version: string
  majorVersion: number
}

interface Server {
  majorVersion: number
  version: string
}

/** Throws if the program is missing or older than the server, whose contents it could not read. */
export async function findClientProgram(
  name: ProgramName,
  { majorVersion, version }: Server,
  environment: Record<string, string | undefined>,
): Promise<ClientProgram> {
  const { PATH, PG_DUMP } = environment
  const path = pathOf(name, PG_DUMP)
  const { stdout } = await promisify(execFile)(path, ['--version'], { env: { PATH } }).catch(() => ({ stdout: '' }))
  const [, found] = /\(PostgreSQL\) (\d\S*)/.exec(stdout) ?? []
  const program = found === undefined ? undefined : { path, version: found, majorVersion: Number.parseInt(found, 10) }
  if (program && program.majorVersion >= majorVersion) return program
  throw new CommandFailed(
    [
      `PostgreSQL ${version} needs ${name} ${majorVersion} or newer, but ${path} is ${found ?? 'missing or does not run'}.`,
      `Install the package postgresql-client-${majorVersion} (Debian, Ubuntu; from apt.postgresql.org if your release is`,
      `too old), postgresql${majorVersion} (RHEL, Fedora; from yum.postgresql.org), postgresql${majorVersion}-client`,
      `(Alpine) or postgresql@${majorVersion} (Homebrew). If its folder is not on the PATH, set PG_DUMP to the path of`,
      `its pg_dump, such as /usr/lib/postgresql/${majorVersion}/bin/pg_dump.`,
    ].join('\n'),
  )
}

function pathOf(name: ProgramName, pgDump: string | undefined): string {
  if (!pgDump) return name
  return name === 'pg_dump' ? pgDump : join(dirname(pgDump), name)
}
