/** PgBouncer in transaction mode before the tests' PostgreSQL, as one runs it in earnest but for its few connections. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, unpackDebianPackage } from '../processes/debian-package.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, type StartedProcess } from '../processes/processes.ts'

export interface TestPooler {
  /** The given address, through the pooler. */
  readonly url: string
  close(): Promise<void>
}

/** The program: the installed one, else Debian's unpacked. Undefined on a machine that has neither it nor Debian's tools. */
export async function findPgbouncer(): Promise<string | undefined> {
  const installed = await findProgram(['pgbouncer', '/usr/sbin/pgbouncer'])
  const found = installed ?? (await unpackDebianPackage({ name: 'pgbouncer', program: 'usr/sbin/pgbouncer' }))
  if (!found) console.log('The tests behind PgBouncer are skipped: it is not on the PATH, and this is no Debian.')
  return found
}

/** The limits that Rapport asks of each connection, which PgBouncer cannot hand on and so has to set by itself. */
export const sessionLimits =
  'set statement_timeout = 10000; set lock_timeout = 3000; set idle_in_transaction_session_timeout = 10000'

/** Lends four connections to whoever comes. `connectQuery` is what the server is asked on each before anybody has it. */
export async function startPgbouncer(
  program: string,
  options: { databaseUrl: string; connectQuery?: string },
): Promise<TestPooler> {
  const server = new URL(options.databaseUrl)
  const port = await findFreePort()
  const directory = await mkdtemp(join(tmpdir(), 'rapport-pgbouncer-'))
  const file = join(directory, 'pgbouncer.ini')
  await writeFile(file, settings({ server, port, connectQuery: options.connectQuery ?? sessionLimits }))
  // It does not run as root, and whom root runs it as must be able to read this.
  await Promise.all([chmod(directory, 0o755), chmod(file, 0o644)])
  const started: StartedProcess = await startCommand({
    command: program,
    parameters: process.getuid?.() === 0 ? ['--user', 'nobody', file] : [file],
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

function settings({ server, port, connectQuery }: { server: URL; port: number; connectQuery: string }): string {
  const password = server.password ? ` password=${decodeURIComponent(server.password)}` : ''
  return `[databases]
* = host=${server.hostname} port=${server.port || 5432} user=${server.username}${password} connect_query='${connectQuery}'

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
query_wait_timeout = 2
ignore_startup_parameters = extra_float_digits, statement_timeout, lock_timeout, idle_in_transaction_session_timeout
`
}
