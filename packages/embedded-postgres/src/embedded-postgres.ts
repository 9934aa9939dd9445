import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { runCommand } from './binaries.ts'
import type { CommandResult, PostgresBinaries } from './binaries.ts'
import { openCluster, superuser } from './cluster.ts'
import type { Cluster } from './cluster.ts'
import { findFreePort } from './free-port.ts'
import { requirePasswords } from './passwords.ts'

/** A PostgreSQL server on 127.0.0.1 for development and tests. Each connection needs a password. */
export interface EmbeddedPostgres {
  readonly port: number
  /** Returns the URL of a database for the superuser, with its password. */
  url(database: string): string
  /** Closes open connections and stops the server; the data is kept. Can be called more than once. */
  stop(): Promise<void>
}

const startAttempts = 10

/**
 * Starts the PostgreSQL from npm with its data in `directory`, which is created if it does not exist. Stops a server
 * that an earlier process left running on the same data. `durable: false` is faster, but a power failure can corrupt
 * the data. `settings` are PostgreSQL settings. `binaries` are programs of another version. The default port is a free one. If the start fails, the error contains
 * PostgreSQL's message. The caller must prevent two concurrent starts with the same directory.
 */
export async function startEmbeddedPostgres(options: {
  directory: string
  port?: number
  durable: boolean
  settings?: Record<string, string>
  binaries?: PostgresBinaries
}): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory)
  await mkdir(directory, { recursive: true })
  const cluster = await openCluster(join(directory, 'data'), options)
  await stopOrphanedServer(cluster)
  const password = await requirePasswords(cluster, options)
  const port = await startServer(cluster, options)
  let stopping: Promise<void> | undefined
  return {
    port,
    url: (database) => `postgres://${superuser}:${password}@127.0.0.1:${port}/${database}`,
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
