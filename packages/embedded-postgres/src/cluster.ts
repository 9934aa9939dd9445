/**
 * The data directory of the embedded PostgreSQL on disk, and the account of the operating system that it belongs to.
 */
import { chown, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findPostgresBinaries, runCommand } from './binaries.ts'
import type { Account, PostgresBinaries } from './binaries.ts'

/** A cluster on disk. `path` is the data directory as the account of the server can resolve it. */
export interface Cluster {
  readonly binaries: PostgresBinaries
  readonly account: Account
  readonly directory: string
  readonly path: string
}

export const superuser = 'rapport'

/** Sorts by code point like C, but supports all letters: their case (builtin) and trigrams of them (lc-ctype). */
const locale = ['--encoding=UTF8', '--locale=C', `--lc-ctype=${process.platform === 'darwin' ? 'en_US' : 'C'}.UTF-8`]
/** Since PostgreSQL 17. Older versions take the case of letters from `--lc-ctype`. */
const builtinLocale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/** Finds the cluster in the folder `data`, or creates it. */
export async function openCluster(
  data: string,
  options: { durable: boolean; binaries?: PostgresBinaries },
): Promise<Cluster> {
  const account = await findAccount(data)
  const binaries = options.binaries ?? (await findPostgresBinaries(account))
  if (!(await exists(join(data, 'PG_VERSION')))) await createCluster({ ...options, binaries, account, data })
  return { binaries, account, directory: data, path: await findPath(data, account) }
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
  const { output: version } = await runCommand(binaries.initdb, ['--version'], { account, directory: unfinished })
  const provider = Number(/ (\d+)/.exec(version)?.[1]) >= 17 ? builtinLocale : []
  const result = await runCommand(
    binaries.initdb,
    // No connection is accepted until `requirePasswords` has set one.
    ['-D', path, '-U', superuser, '--auth=reject', '--no-instructions', ...locale, ...provider, ...sync],
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
      'Start as a non-root user, or set DATABASE_URL.',
  )
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
