import { createWriteStream, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CommandFailed } from '../command.ts'
import type { ClientProgram } from './client-programs.ts'
import { encrypt } from './encryption.ts'
import { startProgram } from './run-program.ts'

interface DumpOptions {
  program: ClientProgram
  environment: Record<string, string | undefined>
  snapshot: string
  /** null: all. */
  extensions: readonly string[] | null
  key: string | undefined
  signal: AbortSignal
  onBytes: (written: number) => void
}

/**
 * Streams a dump into a new file that only this user can read, and returns its size. When it returns, the file is on the
 * disk. If it fails, there is no file.
 */
export async function writeDump(path: string, options: DumpOptions): Promise<number> {
  try {
    // `flush` calls fsync before the file is closed.
    return await streamDump(createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }), options)
  } catch (error) {
    await rm(path, { force: true })
    throw describeWriteError(error, dirname(path))
  }
}

async function streamDump(file: WriteStream, options: DumpOptions): Promise<number> {
  const { program, environment, snapshot, extensions, key, signal, onBytes } = options
  const selected = extensions?.map((name) => `--extension=${name}`) ?? []
  const parameters = [...dumpParameters, `--snapshot=${snapshot}`, ...selected]
  const dump = startProgram(program, parameters, { environment, signal })
  file.on('drain', () => onBytes(file.bytesWritten))
  await pipeline(key === undefined ? dump.stdout : await encrypt(dump.stdout, key), file, { signal })
  await dump.exited
  return file.bytesWritten
}

/** Waits for a migration or the maintenance of partitions, but not forever. */
const dumpParameters = ['--format=custom', '--no-password', '--lock-wait-timeout=5min']

function describeWriteError(error: unknown, directory: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new CommandFailed(`${directory}: the disk is full. The unfinished backup was removed.`)
  return error
}
