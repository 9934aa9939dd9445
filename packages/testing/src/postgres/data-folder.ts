import { constants } from 'node:fs'
import { access, chmod, mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder in memory that Linux has. Docker gives it 64 MB by default, which is too little for all tests. */
const memory = '/dev/shm'
const neededBytes = 2 * 1024 ** 3

/**
 * Creates a folder for the data of a PostgreSQL server: in memory where that is possible, unless TMPDIR is set. A test
 * database has 600 files. To create and remove them took 412 ms of processor time on ext4, and 31 ms in memory (2026-11-26).
 */
export async function createDataFolder(prefix: string): Promise<string> {
  const isInMemory = process.env['TMPDIR'] === undefined && (await hasSpace(memory))
  const folder = await mkdtemp(join(isInMemory ? memory : tmpdir(), prefix))
  // PostgreSQL runs as another user when the tests run as root.
  await chmod(folder, 0o755)
  return folder
}

async function hasSpace(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize >= neededBytes
  } catch {
    return false
  }
}
