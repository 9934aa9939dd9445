import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type LocalInstance, localFileOf } from '@rapport/core/runtime/local-instance.ts'

/** What one start leaves for the next, in `local.json`. */
export interface Memory {
  secretKey: string
  dashboardPassword: string
  /** The API key of the first workspace, by the database that it belongs to. */
  apiKeys: Record<string, string>
  /** The processes that were started last, to wait for should they outlive a killed launcher. */
  processes: Record<string, number>
  /** Undefined while nothing runs. */
  running?: LocalInstance | undefined
}

/** The folder where everything local is kept, held by this process alone. */
export interface DataDirectory {
  readonly path: string
  readonly memory: Readonly<Memory>
  remember(change: Partial<Memory>): Promise<void>
  release(): void
}

/** Takes the folder, which is made when it is not there. Throws when another launcher that still runs has it. */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  await mkdir(path, { recursive: true })
  const release = takeLock(path)
  try {
    const file = localFileOf(path)
    let memory = await readMemory(file)
    const remember = async (change: Partial<Memory>) => {
      memory = { ...memory, ...change }
      await writeMemory(file, memory)
    }
    await remember({})
    return {
      path,
      get memory() {
        return memory
      },
      remember,
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * A file with a process number would outlive a killed launcher. SQLite, which is part of Node, holds a lock of the operating
 * system's, which ends with the process however it ends.
 */
function takeLock(path: string): () => void {
  const lock = new DatabaseSync(join(path, 'lock'), { timeout: 0 })
  try {
    lock.exec('pragma journal_mode = memory')
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    const busy = 5
    if ((error as { errcode?: number }).errcode !== busy) throw error
    throw new Error(
      `Rapport is running already with the data in ${path}. Stop it first, or set DATA_DIR to another folder.`,
      { cause: error },
    )
  }
  return () => {
    if (lock.isOpen) lock.close()
  }
}

async function readMemory(file: string): Promise<Memory> {
  const fresh = {
    secretKey: randomBytes(32).toString('base64'),
    dashboardPassword: randomBytes(12).toString('base64url'),
    apiKeys: {},
    processes: {},
  }
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return fresh
    throw error
  }
  try {
    return { ...fresh, ...(JSON.parse(text) as Partial<Memory>) }
  } catch (cause) {
    // Not made anew: with another secret key, what the old one encrypted is lost.
    throw new Error(`${file} is not readable as JSON. Repair it, or remove it to begin with new secrets.`, { cause })
  }
}

/** Written beside and moved into place, so that a kill leaves the old or the new, never a half. */
async function writeMemory(file: string, memory: Memory): Promise<void> {
  const unfinished = `${file}.new`
  await writeFile(unfinished, `${JSON.stringify(memory, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(unfinished, file)
}
