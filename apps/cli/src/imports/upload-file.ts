/** Uploads a file, and shows how far it is. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { ConnectionError, type ImportsCreateData, RapportError } from '@rapport/sdk'
import type { Api } from '../api-client.ts'
import { type CliContext, CommandFailed, exitCodes, usageError } from '../command.ts'
import { describeApiFailure, reasonOf } from '../describe-error.ts'
import { countRows, type RowCount } from '../row-count.ts'
import { formatBytes } from '../terminal.ts'
import { bar } from './progress-bar.ts'

export interface Session {
  cli: CliContext
  api: Api
  /** The rows of the file, known after the upload. */
  rows: RowCount
}

export interface FileUpload {
  /** "-" is standard input. */
  file: string
  format: 'csv' | 'ndjson'
  query: NonNullable<ImportsCreateData['query']>
  /** Makes the upload safe to repeat: it is repeated after temporary failures, also by another run of the command. */
  idempotencyKey?: string
}

export interface StartedImport {
  id: string
  /** Whether an earlier upload with the same key has started it. */
  isKnown: boolean
}

/** Returns the import when the server has stored the file. */
export async function uploadFile({ cli, api, rows }: Session, upload: FileUpload): Promise<StartedImport> {
  const { file, format, query, idempotencyKey } = upload
  const isGzip = file.endsWith('.gz')
  const handle = file === '-' ? undefined : await openFile(file)
  const size = (await handle?.stat())?.size
  const show = (sent: number) => cli.terminal.showProgress(`Uploading ${bar(sent, size, formatBytes)}`)
  const open = (bytes: AsyncIterable<Buffer>) => countRows(bytes, { format, isGzip, rows, onBytes: show })
  const once = handle ? handle.createReadStream() : createReadStream('', { fd: 0 })
  const content = idempotencyKey === undefined ? open(once) : () => open(createReadStream(file))
  try {
    const { data, response } = await api.rapport.imports
      .create(format === 'csv' ? { csv: content } : { ndjson: content }, query, {
        signal: cli.stopping,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ...(isGzip && { headers: { 'content-encoding': 'gzip' } }),
      })
      .withResponse()
    return { id: data.id, isKnown: response.headers.has('idempotent-replayed') }
  } catch (error) {
    const checkHint = `GET ${api.url}/imports shows whether the import was created.`
    if (cli.stopping.aborted) {
      // A count means that the whole file was sent, so the server may have created the import.
      const message = rows.count === undefined ? 'Nothing was imported: the upload was incomplete.' : checkHint
      throw new CommandFailed(message, exitCodes.interrupted)
    }
    if (!(error instanceof RapportError))
      throw new CommandFailed(`${file} cannot be read (${reasonOf(error)}). ${checkHint}`)
    if (!(error instanceof ConnectionError)) throw error
    throw new CommandFailed(`${describeApiFailure(error)}. ${checkHint}`, exitCodes.failed, { cause: error })
  } finally {
    once.destroy()
    await handle?.close().catch(() => {})
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    const handle = await open(path)
    if (!(await handle.stat()).isDirectory()) return handle
    await handle.close()
    throw new Error('it is a folder')
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** The error for a file or folder of the command line that cannot be read. */
export const unreadable = (path: string, error: unknown) =>
  usageError(`<file>: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})`)
