import { chown, mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findPostgresBinaries, runCommand } from './binaries.ts'
import type { Account, CommandResult, PostgresBinaries } from './binaries.ts'
import { findFreePort } from './free-port.ts'

/** A PostgreSQL server of our own on 127.0.0.1, for development and tests: whoever is on the machine may connect. */
export interface EmbeddedPostgres {
  readonly port: number
  /** The address of one of its databases. */
  url(database: string): string
  /** Stops the server, cutting connections that are still open; its data stay. May be called more than once. */
  stop(): Promise<void>
}

/** One cluster on the disk, and how to reach it: `path` is its name as the server's account can resolve it. */
interface Cluster {
  readonly binaries: PostgresBinaries
  readonly account: Account
  readonly directory: string
  readonly path: string
}

const superuser = 'rapport'
const startAttempts = 10

/** Sorts by code point like C, yet knows every letter: its case (builtin) and that it is one (ctype, for trigrams). */
const locale = [
  '--encoding=UTF8',
  '--locale=C',
  `--lc-ctype=${process.platform === 'darwin' ? 'en_US' : 'C'}.UTF-8`,
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

/**
 * Starts the PostgreSQL that comes from npm, with its data in `directory`, which is made when it is not there. A server
 * that an earlier process left running on the same data is stopped first. `durable: false` gives up safety from power cuts for
 * speed. `settings` are PostgreSQL's own. The port is a free one unless given. Throws with PostgreSQL's own words when it
 * does not start. The caller sees to it that two processes do not start the same directory at once.
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
  await stopLeftServer(cluster)
  const port = await startServer(cluster, options)
  let stopping: Promise<void> | undefined
  return {
    port,
    url: (database) => `postgres://${superuser}@127.0.0.1:${port}/${database}`,
    stop: () => (stopping ??= stopServer(cluster)),
  }
}

/** Makes a database in the server unless it is there. */
export async function ensureDatabase(postgres: EmbeddedPostgres, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') })
  await client.connect()
  try {
    await client.query(`create database ${client.escapeIdentifier(name)}`)
  } catch (error) {
    const alreadyThere = error instanceof pg.DatabaseError && ['42P04', '23505'].includes(error.code ?? '')
    if (!alreadyThere) throw error
  } finally {
    await client.end()
  }
}

/** Root hands the server to whoever owns the data, else to an account that owns nothing. */
async function findAccount(data: string): Promise<Account> {
  if (process.getuid?.() !== 0) return {}
  const owner = await stat(data).catch(() => undefined)
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([numberOf('-u', name), numberOf('-g', name)])
    if (!(uid > 0 && gid > 0)) continue
    // Data that root copied here.
    if (owner) await runCommand('chown', ['-R', `${uid}:${gid}`, data], { account: {}, directory: '/' })
    return { uid, gid }
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody" to run it as. ' +
      'Start as an ordinary user, or set DATABASE_URL.',
  )
}

async function numberOf(flag: '-u' | '-g', name: string): Promise<number> {
  const result = await runCommand('id', [flag, name], { account: {}, directory: '/' })
  return result.code === 0 ? Number(result.output) : 0
}

/** Made beside its place and moved there once complete: a killed initdb leaves nothing that looks like a cluster. */
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
 * The data directory by a name that the account can resolve. When a folder above is closed to it, Linux has a way round:
 * a process may always name the folder that it was started in, and we, who may enter, start it there.
 */
async function findPath(data: string, account: Account): Promise<string> {
  if (account.uid === undefined) return data
  const mayEnter = (path: string) =>
    runCommand('/bin/sh', ['-c', 'cd -- "$0"', path], { account, directory: data }).then(({ code }) => code === 0)
  if (await mayEnter(data)) return data
  const current = '/proc/self/cwd'
  if (await mayEnter(current)) return current
  throw new Error(
    `The user with uid ${account.uid}, whom root runs PostgreSQL as, may not enter ${data}. ` +
      'Set DATA_DIR to a folder that others may enter, start as an ordinary user, or set DATABASE_URL.',
  )
}

function control(cluster: Cluster, ...parameters: string[]): Promise<CommandResult> {
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
    const started = await control(cluster, ...parameters, 'start')
    if (started.code === 0) return port
    const reason = await readFile(log, 'utf8').catch(() => '')
    // Somebody else was quicker to take the port, or backends of a killed server are still on their way out.
    const passing =
      (options.port === undefined && reason.includes('could not bind')) ||
      reason.includes('pre-existing shared memory block')
    if (!passing || attempt === startAttempts) {
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
  // pg_ctl hands this line to a shell.
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  return Object.entries(settings)
    .map(([name, value]) => `-c ${quote(`${name}=${value}`)}`)
    .join(' ')
}

/** Stops a server that a killed process left on these data, and forgets one whose process number now is another's. */
async function stopLeftServer(cluster: Cluster): Promise<void> {
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

/** A process number alone proves nothing after a restart of the machine: the server works in its data directory. */
async function isServerOf(cluster: Cluster, pid: number): Promise<boolean> {
  if (process.platform === 'linux') {
    const [works, expected] = await Promise.all([
      stat(`/proc/${pid}/cwd`).catch(() => undefined),
      stat(cluster.directory),
    ])
    return works?.ino === expected.ino && works.dev === expected.dev
  }
  const listed = await runCommand('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { account: {}, directory: '/' })
  return listed.output.includes(cluster.path)
}

async function stopServer(cluster: Cluster): Promise<void> {
  const stopped = await control(cluster, '-m', 'fast', '-w', '-t', '60', '-s', 'stop')
  // Whoever else stopped it, or killed it, did what was asked for.
  const isGone = stopped.code === 0 || (await control(cluster, 'status')).code === 3
  if (!isGone) throw new Error(`PostgreSQL in ${cluster.directory} did not stop:\n${stopped.output}`)
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw new Error(`${path} cannot be read: does it belong to another user?`, { cause: error })
  }
}
