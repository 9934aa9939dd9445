/** Finds pg_dump and pg_restore. A program that is older than the server cannot be used. */
import { execFile } from 'node:child_process'
import { access, constants, glob } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { CommandFailed } from '../command.ts'

type ProgramName = 'pg_dump' | 'pg_restore'

export interface ClientProgram {
  path: string
  /** As the program prints it: "18.4". */
  version: string
  majorVersion: number
}

/** Where packages install the programs without adding them to the PATH. */
const folders = [
  '/usr/lib/postgresql/*/bin', // Debian, Ubuntu
  '/usr/pgsql-*/bin', // RHEL, Fedora
  '/usr/libexec/postgresql*', // Alpine
  '/usr/local/pgsql/bin',
  '/opt/homebrew/opt/{libpq,postgresql@*}/bin',
  '/usr/local/opt/{libpq,postgresql@*}/bin',
  '/home/linuxbrew/.linuxbrew/opt/{libpq,postgresql@*}/bin',
  '/Applications/Postgres.app/Contents/Versions/*/bin',
]

interface Server {
  majorVersion: number
  version: string
}

/**
 * Returns the programs that are not older than the server, the closest version first: a newer pg_dump writes statements
 * that an older server may not know. Throws if there is none, with what was found and which package to install.
 */
export async function findClientPrograms(
  name: ProgramName,
  { majorVersion, version }: Server,
  environment: Record<string, string | undefined>,
): Promise<[ClientProgram, ...ClientProgram[]]> {
  const found = await findInstalled(name, environment['PATH'] ?? '')
  const [first, ...others] = found
    .filter((program) => program.majorVersion >= majorVersion)
    .toSorted((one, other) => one.majorVersion - other.majorVersion)
  if (first) return [first, ...others]
  const older = found.map(({ path, version }) => `${path} (${version})`).join(', ')
  throw new CommandFailed(
    [
      `PostgreSQL ${version} needs ${name} ${majorVersion} or newer.`,
      older === '' ? 'None was found on the PATH or in:' : `Found only ${older}, on the PATH and in:`,
      ...folders.map((folder) => `  ${folder}`),
      `Install the package postgresql-client-${majorVersion} (Debian, Ubuntu; from apt.postgresql.org if your release is`,
      `too old), postgresql${majorVersion} (RHEL, Fedora; from yum.postgresql.org), postgresql${majorVersion}-client`,
      `(Alpine) or postgresql@${majorVersion} (Homebrew).`,
    ].join('\n'),
  )
}

async function findInstalled(name: ProgramName, path: string): Promise<ClientProgram[]> {
  const candidates = path.split(delimiter).filter((folder) => folder.startsWith('/'))
  for (const pattern of folders) for await (const folder of glob(pattern)) candidates.push(folder)
  const paths = [...new Set(candidates.map((folder) => join(folder, name)))]
  const programs = await Promise.all(paths.map(readVersion))
  return programs.filter((program) => program !== undefined)
}

/** Undefined if there is no such program, or if it does not run. */
async function readVersion(path: string): Promise<ClientProgram | undefined> {
  try {
    await access(path, constants.X_OK)
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: 10_000 })
    const [, version = '', major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout) ?? []
    return major === undefined ? undefined : { path, version, majorVersion: Number(major) }
  } catch {
    return undefined
  }
}
