import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { ImportOptions } from '@rapport/core/imports/imports.schema.ts'
import { ConnectionError, type Import, RapportError } from '@rapport/sdk'
import { z } from 'zod'
import { type Api, apiOptions, openApi } from '../api-client.ts'
import {
  type CliContext,
  CommandFailed,
  defineCommand,
  exitCodes,
  flag,
  jsonFlag,
  option,
  usageError,
} from '../command.ts'
import { describeApiFailure, reasonOf } from '../describe-error.ts'
import { IdOption } from '../id-option.ts'
import { countRows, type RowCount } from '../row-count.ts'
import { formatBytes } from '../terminal.ts'

const { onConflict, listId } = ImportOptions.shape

export const importContacts = defineCommand({
  positionals: ['file'],
  options: z.strictObject({
    file: z.string().optional().meta(option('<file>', 'CSV or NDJSON, optionally as .gz; "-" is standard input')),
    format: z
      .enum(['csv', 'ndjson'], 'must be csv or ndjson')
      .optional()
      .meta(option('<format>', 'csv or ndjson (default: by file name, otherwise csv)')),
    'on-conflict': onConflict.meta(option('<action>', 'For existing contacts: skip or update (default: skip)')),
    list: listId.meta(option('<lst_…>', 'Subscribes all contacts to this list; requires --consent')),
    consent: z
      .boolean()
      .default(false)
      .meta(flag('States that all contacts in the file agreed to receive emails of the list')),
    'each-event': z
      .boolean()
      .default(false)
      .meta(flag('Also emits an event for each new or updated contact and each subscription')),
    'dry-run': z.boolean().default(false).meta(flag('Validates and counts the rows without writing anything')),
    follow: IdOption('imp')
      .optional()
      .meta(option('<imp_…>', 'Shows the progress of a running import, instead of uploading a file')),
    json: jsonFlag('Prints the import as JSON'),
    ...apiOptions,
  }),
  notes: [
    'Column names are accepted in any usual spelling (Email, first_name, First Name): see POST /contacts/import.',
    'Ctrl-C during the upload cancels the import; after the upload the import continues on the server. If rows',
    'failed, the exit code is 1, and the first hundred errors are printed to standard error.',
  ].join('\n'),
  async run(cli, options) {
    const { file, follow } = options
    if ((file === undefined) === (follow === undefined))
      throw usageError('exactly one of <file> and --follow is required')
    if (options.list !== undefined && !options.consent) throw usageError('--list requires --consent')
    const api = openApi(cli, options)
    const rows: RowCount = { count: undefined }
    const id = follow ?? (await upload({ cli, api, rows }, { ...options, file: file ?? '-' }))
    const done = await followImport({ cli, api, rows }, id)
    return done === undefined ? exitCodes.interrupted : report(cli, done, options.json)
  },
})

interface Session {
  cli: CliContext
  api: Api
  /** The rows of the file, known after the upload. */
  rows: RowCount
}

interface UploadOptions {
  file: string
  format?: 'csv' | 'ndjson' | undefined
  'on-conflict': 'skip' | 'update'
  list?: string | undefined
  'each-event': boolean
  'dry-run': boolean
}

/** Uploads the file. Returns the id of the import when the server has stored it. */
async function upload({ cli, api, rows }: Session, options: UploadOptions): Promise<string> {
  const { file } = options
  const isGzip = file.endsWith('.gz')
  const format = options.format ?? (/\.(ndjson|jsonl)(\.gz)?$/.test(file) ? 'ndjson' : 'csv')
  const handle = file === '-' ? undefined : await openFile(file)
  const size = (await handle?.stat())?.size
  const bytes = handle ? handle.createReadStream() : createReadStream('', { fd: 0 })
  const show = (sent: number) => cli.terminal.showProgress(`Uploading ${bar(sent, size, formatBytes)}`)
  const content = countRows(bytes, { format, isGzip, rows, onBytes: show })
  try {
    const created = await api.rapport.imports.create(
      format === 'csv' ? { csv: content } : { ndjson: content },
      {
        onConflict: options['on-conflict'],
        dryRun: options['dry-run'],
        ...(options.list !== undefined && { listId: options.list, consent: 'confirmed' }),
        ...(options['each-event'] && { events: 'each' }),
      },
      { signal: cli.stopping, ...(isGzip && { headers: { 'content-encoding': 'gzip' } }) },
    )
    cli.terminal.log(`${created.id} is queued.`)
    return created.id
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
    throw new CommandFailed(`${describeApiFailure(error)}. ${checkHint}`)
  } finally {
    bytes.destroy()
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
    throw usageError(
      `<file>: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})`,
    )
  }
}

/** Returns the import when it has ended, or undefined on Ctrl-C. */
async function followImport(
  { cli: { terminal, stopping: signal }, api, rows }: Session,
  id: string,
): Promise<Import | undefined> {
  const format = (count: number) => `${count.toLocaleString('en')} rows`
  function onProgress({ status, processed }: Import) {
    // Between two turns, an import is queued again.
    const state = status === 'QUEUED' && processed === 0 ? 'Waiting  ' : 'Importing'
    terminal.showProgress(`${state} ${bar(processed, rows.count, format)}`)
  }
  try {
    return await api.rapport.imports.wait(id, { signal, onProgress })
  } catch (error) {
    if (!signal.aborted) throw error
    terminal.log(
      `The import continues on the server. To follow it again:\n  rapport import --follow ${id}\nTo cancel it: DELETE ${api.url}/imports/${id}`,
    )
    return undefined
  }
}

function report({ terminal }: CliContext, record: Import, asJson: boolean): number {
  for (const { line, message } of record.errors) terminal.log(`line ${line}: ${message}`)
  const unlisted = record.failed - record.errors.length
  if (unlisted > 0) terminal.log(`and ${unlisted.toLocaleString('en')} more`)
  const { id, status, dryRun, processed, created, updated, skipped, failed } = record
  const counts = Object.entries({ processed, created, updated, skipped, failed }).map(
    ([name, count]) => `${count.toLocaleString('en')} ${name}`,
  )
  const text = `${id} ${describeOutcome(status, dryRun)}: ${counts.join(', ')}`
  terminal.print(asJson ? JSON.stringify(record) : text)
  return status === 'COMPLETED' && failed === 0 ? exitCodes.success : exitCodes.failed
}

function describeOutcome(status: Import['status'], dryRun: boolean): string {
  if (status === 'FAILED') return 'failed'
  if (status === 'CANCELED') return 'was canceled'
  return dryRun ? 'was validated, nothing was written' : 'is complete'
}

/** "[######..............]  30 %  3.0 MB"; without the bar if the total is unknown. */
function bar(done: number, total: number | undefined, format: (amount: number) => string): string {
  if (!total) return format(done)
  const share = Math.min(1, done / total)
  const filled = Math.round(share * 24)
  return `[${'#'.repeat(filled)}${'.'.repeat(24 - filled)}] ${Math.floor(share * 100)} %  ${format(done)}`
}
