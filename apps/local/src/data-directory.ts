import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type LocalInstance, localFileOf } from '@rapport/core/runtime/local-instance.ts'

/** State that is kept between starts, in `local.json`. */
export interface LocalState {
  secretKey: string
  dashboardPassword: string
  /** Of the role that owns the database of the embedded PostgreSQL. */
  databasePassword: string
  /** The API key of the first workspace, per database. */
  apiKeys: Record<string, string>
  /** Pids of the last started processes, which may still be running if the launcher was killed. */
  processes: Record<string, number>
  /** Undefined while Rapport is stopped. */
  running?: LocalInstance | undefined
}

/** The folder with all local data, locked by this process. */
export interface DataDirectory {
  readonly path: string
  readonly state: Readonly<LocalState>
  save(change: Partial<LocalState>): Promise<void>
  release(): void
}

/**
 * Creates the folder if needed and locks it. Only its owner has access to it. Throws if another launcher is running
 * with it.
 */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  await removeAccessOfOthers(path)
  const release = await acquireLock(path)
  try {
    const file = localFileOf(path)
    let state = await readLocalState(file)
    async function write(): Promise<void> {
      await writeLocalState(file, state)
      await writeVariables(join(path, 'local.env'), state.running)
    }
    let writing = Promise.resolve()
    // One after the other: each replaces the same files.
    const save = (change: Partial<LocalState>) => {
      state = { ...state, ...change }
      return (writing = writing.catch(() => {}).then(write))
    }
    await save({})
    return {
      path,
      get state() {
        return state
      },
      save,
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Earlier versions created the folder with the default mode, which lets all users of the machine read it. */
async function removeAccessOfOthers(path: string): Promise<void> {
  const { mode } = await stat(path)
  const isSticky = (mode & 0o1000) !== 0
  if (isSticky) throw new Error(`DATA_DIR: ${path} is a folder that all users share. Set it to a folder of its own.`)
  if ((mode & 0o077) !== 0) await chmod(path, 0o700)
}

/**
 * A pid file would remain after a launcher is killed. SQLite, which is part of Node, uses a lock of the operating
 * system, which is always released when the process exits.
 */
async function acquireLock(path: string): Promise<() => void> {
  const file = join(path, 'lock')
  // SQLite would create the file with the default mode.
  await (await open(file, 'a', 0o600)).close()
  await chmod(file, 0o600)
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('pragma journal_mode = memory')
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    const busy = 5
    if ((error as { errcode?: number }).errcode !== busy) throw error
    throw new Error(
      `Rapport is already running with the data in ${path}. Stop it first, or set DATA_DIR to another folder.`,
      { cause: error },
    )
  }
  return () => {
    if (lock.isOpen) lock.close()
  }
}

async function readLocalState(file: string): Promise<LocalState> {
  const initial = {
    secretKey: randomBytes(32).toString('base64'),
    dashboardPassword: randomBytes(12).toString('base64url'),
    databasePassword: randomBytes(24).toString('base64url'),
    apiKeys: {},
    processes: {},
  }
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return initial
    throw error
  }
  try {
    return { ...initial, ...(JSON.parse(text) as Partial<LocalState>) }
  } catch (cause) {
    // Not replaced automatically: data encrypted with the old secret key would be lost.
    throw new Error(`${file} is not valid JSON. Repair it, or remove it to start with new secrets.`, { cause })
  }
}

/** Writes a new file and renames it, so that a killed process leaves either the old or the new state. */
async function writeLocalState(file: string, state: LocalState): Promise<void> {
  await replaceFile(file, `${JSON.stringify(state, null, 2)}\n`)
}

/** Writes the addresses and secrets for shells and for `node --env-file`. Without an installation, removes the file. */
async function writeVariables(file: string, running: LocalInstance | undefined): Promise<void> {
  if (!running) return rm(file, { force: true })
  const variables = {
    RAPPORT_API_URL: running.apiUrl,
    RAPPORT_API_KEY: running.apiKey,
    RAPPORT_INBOX_URL: running.inboxUrl ?? '',
    // Quoted, as it contains a space.
    RAPPORT_INBOX_AUTHORIZATION: `"${running.inboxAuthorization ?? ''}"`,
  }
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${value}\n`)
  await replaceFile(file, lines.join(''))
}

async function replaceFile(file: string, text: string): Promise<void> {
  const unfinished = `${file}.new`
  // An existing file would keep its mode.
  await rm(unfinished, { force: true })
  await writeFile(unfinished, text, { flag: 'wx', mode: 0o600, flush: true })
  await rename(unfinished, file)
}
