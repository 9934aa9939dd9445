/** Password authentication of the embedded PostgreSQL: without it, any user of the machine could run programs in it. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from './binaries.ts'
import { superuser } from './cluster.ts'
import type { Cluster } from './cluster.ts'

const accessRules = `# Written at each start: every connection needs a password.
host all         all 127.0.0.1/32 scram-sha-256
host replication all 127.0.0.1/32 scram-sha-256
`

/**
 * Makes a stopped cluster reject connections without a password. Returns the password of the superuser. It is kept in the data directory, so that a copy of the data has it too.
 */
export async function requirePasswords(cluster: Cluster, options: { durable: boolean }): Promise<string> {
  await writePrivateFile(cluster, 'pg_hba.conf', accessRules)
  const name = 'superuser-password'
  const known = await readFile(join(cluster.directory, name), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  })
  if (known) return known
  const password = randomBytes(24).toString('base64url')
  await runStatement(cluster, `alter role ${superuser} password '${hashPassword(password, options)}'`)
  await writePrivateFile(cluster, name, password)
  return password
}

/**
 * As PostgreSQL keeps it. A random password of 192 bits needs no iterations, but some clients insist on 4,096, which take
 * 1.6 ms of processor time for each connection. Tests have thousands.
 */
function hashPassword(password: string, { durable }: { durable: boolean }): string {
  const iterations = durable ? 4_096 : 1
  const salt = randomBytes(16)
  const key = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const sign = (text: string) => createHmac('sha256', key).update(text).digest()
  const storedKey = createHash('sha256').update(sign('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${sign('Server Key').toString('base64')}`
}

/** Runs a statement in single-user mode, which needs no server and no password. */
async function runStatement(cluster: Cluster, statement: string): Promise<void> {
  // With the second setting, an error message does not contain the statement, which contains a password.
  const settings = ['-c', 'exit_on_error=on', '-c', 'log_min_error_statement=panic']
  const result = await runCommand(
    cluster.binaries.postgres,
    ['--single', '-D', cluster.path, ...settings, 'postgres'],
    {
      ...cluster,
      input: `${statement}\n`,
    },
  )
  if (result.code !== 0)
    throw new Error(`PostgreSQL could not set a password in ${cluster.directory}:\n${result.output}`)
}

/**
 * Replaces a file in the data directory with one that only the account of the server can read. The folder belongs to
 * this account, so root must not follow a link in it: an existing file is replaced, never opened.
 */
async function writePrivateFile({ account, directory }: Cluster, name: string, text: string): Promise<void> {
  const unfinished = join(directory, `${name}.new`)
  await rm(unfinished, { force: true })
  const file = await open(unfinished, 'wx', 0o600)
  try {
    if (account.uid !== undefined && account.gid !== undefined) await file.chown(account.uid, account.gid)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(unfinished, join(directory, name))
}
