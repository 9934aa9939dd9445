import { chown, mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findPostgresBinaries, runCommand } from './binaries.ts'
import type { Account, CommandResult, PostgresBinaries } from './binaries.ts'
import { findFreePort } from './free-port.ts'

/** A PostgreSQL server on 127.0.0.1 for development and tests. All local users can connect without a password. */
export interface EmbeddedPostgres {
  readonly port: number
  /** Returns the URL of a database. */
  url(database: string): string
  /** Closes open connections and stops the server; the data is kept. Can be called more than once. */
  stop(): Promise<void>
}

/** A cluster on disk. `path` is the data directory as the account of the server can resolve it. */
interface Cluster {
  readonly binaries: PostgresBinaries
  readonly account: Account
  readonly directory: string
  readonly path: string
}

const superuser = 'rapport'
const startAttempts = 10

/** Sorts by code point like C, but supports all letters: their case (builtin) and trigrams of them (lc-ctype). */
const locale = [
  '--encoding=UTF8',
  '--locale=C',
  `--lc-ctype=${process.platform === 'darwin' ? 'en_US' : 'C'}.UTF-8`,
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

/**
 * Starts the PostgreSQL from npm with its data in `directory`, which is created if it does not exist. Stops a server
 * that an earlier process left running on the same data. `durable: false` is faster, but a power failure can corrupt
 * the data. `settings` are PostgreSQL settings. The default port is a free one. If the start fails, the error contains
 * PostgreSQL's message. The caller must prevent two concurrent starts with the same directory.
 */
export async function startEmbeddedPostgres(options: {
  directory: string
  port?: number
  durable: boolean
  settings?: Record<string, string>
}): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory)
  await mkdir(directory, { recursive: true })
  const data = join(directory, 'data')
  const account = await findAccount(data)
  const binaries = await findPostgresBinaries(account)
  if (!(await exists(join(data, 'PG_VERSION'))))
    await createCluster({ binaries, account, data, durable: options.durable })

  const cluster = { binaries, account, directory: data, path: await findPath(data, account) }
  await stopOrphanedServer(cluster)
  const port = await startServer(cluster, options)
  let stopping: Promise<void> | undefined
  return {
    port,
    url: (database) => `postgres://${superuser}@127.0.0.1:${port}/${database}`,
    stop: () => (stopping ??= stopServer(cluster)),
  }
}

/** Creates a database if it does not exist. */
export async function ensureDatabase(postgres: EmbeddedPostgres, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') })
  await client.connect()
  try {
    await client.query(`create database ${client.escapeIdentifier(name)}`)
  } catch (error) {
    const alreadyExists = error instanceof pg.DatabaseError && ['42P04', '23505'].includes(error.code ?? '')
    if (!alreadyExists) throw error
  } finally {
    await client.end()
  }
}

/** As root, the server runs as the owner of the data, or as an unprivileged account. */
async function findAccount(data: string): Promise<Account> {
  if (process.getuid?.() !== 0) return {}
  const owner = await stat(data).catch(() => undefined)
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([readAccountId('-u', name), readAccountId('-g', name)])
    if (!(uid > 0 && gid > 0)) continue
    // The data belongs to root, for example because root copied it here.
    if (owner) await runCommand('chown', ['-R', `${uid}:${gid}`, data], { account: {}, directory: '/' })
    return { uid, gid }
  }
  throw new Error(
    'PostgreSQL does not run as root, and this machine has no unprivileged user such as "postgres" to run it as. ' +
      'Start as a non-root user, or set DATABASE_URL.',
  )
}

async function readAccountId(flag: '-u' | '-g', name: string): Promise<number> {
  const result = await runCommand('id', [flag, name], { account: {}, directory: '/' })
  return result.code === 0 ? Number(result.output) : 0
}

/** Renamed when complete, so that a killed initdb leaves no folder that looks like a cluster. */
async function createCluster(options: {
  binaries: PostgresBinaries
  account: Account
  data: string
  durable: boolean
}): Promise<void> {
  const { account, binaries, data } = options
  const unfinished = `${data}.new`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  if (account.uid !== undefined && account.gid !== undefined) await chown(unfinished, account.uid, account.gid)
  const path = await findPath(unfinished, account)
  const sync = options.durable ? [] : ['--no-sync']
  const result = await runCommand(
    binaries.initdb,
    ['-D', path, '-U', superuser, '--auth=trust', '--no-instructions', ...locale, ...sync],
    { account, directory: unfinished },
  )
  if (result.code !== 0) throw new Error(`PostgreSQL could not create a cluster in ${data}:\n${result.output}`)
  await rename(unfinished, data)
}

/**
 * Returns the data directory as a path that the account can resolve. If a parent folder is closed to the account, Linux
 * has a workaround: root starts the process in the folder, where it can use /proc/self/cwd as the path.
 */
async function findPath(data: string, account: Account): Promise<string> {
  if (account.uid === undefined) return data
  const canEnter = (path: string) =>
    runCommand('/bin/sh', ['-c', 'cd -- "$0"', path], { account, directory: data }).then(({ code }) => code === 0)
  if (await canEnter(data)) return data
  const current = '/proc/self/cwd'
  if (await canEnter(current)) return current
  throw new Error(
    `PostgreSQL runs as the user with uid ${account.uid}, which has no access to ${data}. ` +
      'Set DATA_DIR to a folder that this user can access, start as a non-root user, or set DATABASE_URL.',
  )
}

function runPgCtl(cluster: Cluster, ...parameters: string[]): Promise<CommandResult> {
  return runCommand(cluster.binaries.pg_ctl, ['-D', cluster.path, ...parameters], cluster)
}

async function startServer(
  cluster: Cluster,
  options: { port?: number; durable: boolean; settings?: Record<string, string> },
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort())
    const log = join(cluster.directory, 'server.log')
    await rm(log, { force: true })
    const parameters = ['-l', `${cluster.path}/server.log`, '-w', '-t', '120', '-s', '-o', serverOptions(port, options)]
    const started = await runPgCtl(cluster, ...parameters, 'start')
    if (started.code === 0) return port
    const reason = await readFile(log, 'utf8').catch(() => '')
    // Another process took the port first, or backends of a killed server have not exited yet.
    const isTransient =
      (options.port === undefined && reason.includes('could not bind')) ||
      reason.includes('pre-existing shared memory block')
    if (!isTransient || attempt === startAttempts) {
      throw new Error(
        `PostgreSQL did not start on port ${port} with ${cluster.directory}:\n${started.output}\n${reason}`.trim(),
      )
    }
    await sleep(300)
  }
}

function serverOptions(port: number, options: { durable: boolean; settings?: Record<string, string> }): string {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...options.settings,
    port: String(port),
  }
  // pg_ctl passes this line to a shell.
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  return Object.entries(settings)
    .map(([name, value]) => `-c ${quote(`${name}=${value}`)}`)
    .join(' ')
}

/** Stops a server that a killed process left running. Removes the pid file if its pid belongs to another process. */
async function stopOrphanedServer(cluster: Cluster): Promise<void> {
  const pidFile = join(cluster.directory, 'postmaster.pid')
  const content = await readFile(pidFile, 'utf8').catch(() => '')
  const pid = Number(content.split('\n')[0])
  if (!(pid > 0) || !isAlive(pid)) return
  if (await isServerOf(cluster, pid)) await stopServer(cluster)
  else await rm(pidFile, { force: true })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The pid may belong to another process after a reboot. The server's working directory is its data directory. */
async function isServerOf(cluster: Cluster, pid: number): Promise<boolean> {
  if (process.platform === 'linux') {
    const [actual, expected] = await Promise.all([
      stat(`/proc/${pid}/cwd`).catch(() => undefined),
      stat(cluster.directory),
    ])
    return actual?.ino === expected.ino && actual.dev === expected.dev
  }
  const listed = await runCommand('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { account: {}, directory: '/' })
  return listed.output.includes(cluster.path)
}

async function stopServer(cluster: Cluster): Promise<void> {
  const stopped = await runPgCtl(cluster, '-m', 'fast', '-w', '-t', '60', '-s', 'stop')
  // Another process may have stopped or killed it meanwhile.
  const isGone = stopped.code === 0 || (await runPgCtl(cluster, 'status')).code === 3
  if (!isGone) throw new Error(`PostgreSQL in ${cluster.directory} did not stop:\n${stopped.output}`)
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw new Error(`Cannot read ${path}. Check whether it belongs to another user.`, { cause: error })
  }
}
