/** A file to restore: a backup, or the output of "pg_dump --format=custom". */
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { ConfigError } from '@rapport/core/runtime/config.ts'
import { CommandFailed, usageError } from '../command.ts'
import { decrypt, encryptedFileStart } from './encryption.ts'

export interface DumpSource {
  readonly path: string
  readonly bytes: number
  /** Streams the decrypted dump. It throws if the file is damaged or incomplete; at the end at the latest. */
  read(onBytes?: (read: number) => void): AsyncGenerator<Buffer>
}

const dumpStart = 'PGDMP'

/** Checks the format of the file, and that there is a key for an encrypted one. */
export async function openDumpSource(path: string, key: string | undefined): Promise<DumpSource> {
  const isEncrypted = await readFormat(path)
  if (isEncrypted && key === undefined) {
    throw new ConfigError(`Invalid configuration:\n  BACKUP_KEY: is required, as ${path} is encrypted`)
  }
  const { size } = await stat(path)
  async function* read(onBytes?: (read: number) => void) {
    const file = createReadStream(path)
    file.on('data', () => onBytes?.(file.bytesRead))
    yield* isEncrypted && key !== undefined ? decrypt(file, key) : (file as AsyncIterable<Buffer>)
  }
  return { path, bytes: size, read }
}

/** Returns whether the file is encrypted. */
async function readFormat(path: string): Promise<boolean> {
  const start = await readStart(path, encryptedFileStart.length).catch((error: unknown) => {
    throw usageError(`<file>: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  })
  if (start.startsWith(dumpStart)) return false
  if (start === encryptedFileStart) return true
  throw new CommandFailed(`${path} is not a file of "rapport backup" or "pg_dump --format=custom"`)
}

async function readStart(path: string, length: number): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length))
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await file.close()
  }
}
