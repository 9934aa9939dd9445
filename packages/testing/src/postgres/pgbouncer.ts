/** PgBouncer in transaction mode in front of the test PostgreSQL, configured as in production but with a small pool. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, unpackDebianPackage } from '../processes/debian-package.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, type StartedProcess } from '../processes/processes.ts'

export interface TestPooler {
  /** The database URL, through the pooler. */
  readonly url: string
  close(): Promise<void>
}

/** Returns the path of PgBouncer: installed, or unpacked from its Debian package. Undefined if neither is possible. */
export async function findPgbouncer(): Promise<string | undefined> {
  const installed = await findProgram(['pgbouncer', '/usr/sbin/pgbouncer'])
  const found = installed ?? (await unpackDebianPackage({ name: 'pgbouncer', program: 'usr/sbin/pgbouncer' }))
  if (!found)
    console.log(
      'PgBouncer tests are skipped: pgbouncer is not on the PATH, and Debian packages cannot be unpacked here.',
    )
  return found
}

/** The timeouts that Rapport sets on each connection. PgBouncer does not forward them, so it sets them itself. */
export const sessionLimits =
  'set statement_timeout = 10000; set lock_timeout = 3000; set idle_in_transaction_session_timeout = 10000'

/** Starts PgBouncer with a pool of four connections. It runs `connectQuery` on each new connection to the server. */
export async function startPgbouncer(
  program: string,
  options: { databaseUrl: string; connectQuery?: string },
): Promise<TestPooler> {
  const server = new URL(options.databaseUrl)
  const port = await findFreePort()
  const directory = await mkdtemp(join(tmpdir(), 'rapport-pgbouncer-'))
  const [file, users] = [join(directory, 'pgbouncer.ini'), join(directory, 'users.txt')]
  const { connectQuery = sessionLimits } = options
  await writeFile(file, settings({ server, port, users, connectQuery }))
  await writeFile(users, `"${server.username}" "${decodeURIComponent(server.password)}"\n`)
  // PgBouncer refuses to run as root. The files have passwords, so only the account that it switches to can read them.
  const isRoot = process.getuid?.() === 0
  if (isRoot) await promisify(execFile)('chown', ['-R', 'nobody', directory])
  const started: StartedProcess = await startCommand({
    command: program,
    parameters: isRoot ? ['--user', 'nobody', file] : [file],
    readyPattern: /process up/,
  })
  const url = new URL(server)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    async close() {
      started.kill('SIGKILL')
      await started.exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function settings(options: { server: URL; port: number; users: string; connectQuery: string }): string {
  const { server, port, users, connectQuery } = options
  const password = server.password ? ` password=${decodeURIComponent(server.password)}` : ''
  return `[databases]
* = host=${server.hostname} port=${server.port || 5432} user=${server.username}${password} connect_query='${connectQuery}'

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = ${server.password ? 'scram-sha-256' : 'any'}
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
query_wait_timeout = 2
ignore_startup_parameters = extra_float_digits, statement_timeout, lock_timeout, idle_in_transaction_session_timeout
`
}
