import { access, constants, mkdir, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CommandFailed, usageError } from '../command.ts'

/** Creates the folder of the backups if only its parent exists. Fails if it cannot be written. */
export async function prepareFolder(path: string | undefined): Promise<string> {
  if (path === undefined) throw usageError('--directory: is required, or set BACKUP_DIRECTORY')
  const folder = resolve(path)
  try {
    await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return folder
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'its parent folder does not exist' : code
    throw new CommandFailed(`--directory: ${folder} cannot be written (${reason})`)
  }
}

/** Makes renamed files durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
