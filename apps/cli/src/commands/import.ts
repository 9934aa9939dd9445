import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Id } from '@rapport/core/kernel/ids.ts'
import { type Import, ImportOptions } from '@rapport/core/imports/imports.schema.ts'
import { z } from 'zod'
import { type Api, apiOptions, ApiRefused, describeFailure, openApi } from '../api-client.ts'
import { CommandFailed, defineCommand, exitCodes, flag, option, type CliContext, usageError } from '../command.ts'
import { countRows, type RowCount } from '../row-count.ts'

const { onConflict, listId } = ImportOptions.shape
const pollMs = 1_000

export const importContacts = defineCommand({
  name: 'import',
  summary: 'Imports contacts from a file, and shows how it goes',
  positional: 'file',
  options: z.strictObject({
    file: z.string().optional().meta(option('<file>', 'CSV or NDJSON, also as .gz; "-" is standard input')),
    format: z
      .enum(['csv', 'ndjson'], 'must be csv or ndjson')
      .optional()
      .meta(option('<format>', 'csv or ndjson (default: by the name of the file, else csv)')),
    'on-conflict': onConflict.meta(option('<what>', 'Of contacts that are known: skip or update (default: skip)')),
    list: listId.meta(option('<lst_…>', 'Puts everyone on this list; needs --consent')),
    consent: z
      .boolean()
      .default(false)
      .meta(flag('Your word that everyone in the file agreed to get mails of the list')),
    'each-event': z.boolean().default(false).meta(flag('Tells contact.created for each, not import.completed alone')),
    'dry-run': z.boolean().default(false).meta(flag('Checks and counts; nothing is written')),
    follow: Id('imp')
      .optional()
      .meta(option('<imp_…>', 'Shows how an import goes that is under way, in place of a file')),
    json: z.boolean().default(false).meta(flag('Prints the record of the import as JSON')),
    ...apiOptions,
  }),
  notes: [
    'Columns are known by their names in any usual spelling (Email, first_name, First Name), as POST /contacts/import',
    'says. Ctrl-C while the file goes up means that nothing is imported; after that the import goes on in the server.',
    'Exit code 1 when a row failed, with each on standard error, the first hundred of them.',
  ].join('\n'),
  async run(cli, options) {
    const { file, follow } = options
    if ((file === undefined) === (follow === undefined))
      throw usageError('<file> or --follow is needed, and one of them')
    if (options.list !== undefined && !options.consent) throw usageError('--consent is needed with --list')
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
  /** Of the file, known once it has gone up. */
  rows: RowCount
}

interface UploadOptions {
  file: string
  format?: 'csv' | 'ndjson' | undefined
  'on-conflict': string
  list?: string | undefined
  'each-event': boolean
  'dry-run': boolean
}

/** Answers the id of the import, which the server has safely when this returns. */
async function upload({ cli, api, rows }: Session, options: UploadOptions): Promise<string> {
  const { file } = options
  const isGzip = file.endsWith('.gz')
  const format = options.format ?? (/\.(ndjson|jsonl)(\.gz)?$/.test(file) ? 'ndjson' : 'csv')
  const handle = file === '-' ? undefined : await openFile(file)
  const size = (await handle?.stat())?.size
  const bytes = handle ? handle.createReadStream() : createReadStream('', { fd: 0 })
  const query = new URLSearchParams({
    onConflict: options['on-conflict'],
    dryRun: String(options['dry-run']),
    ...(options.list !== undefined && { listId: options.list, consent: 'confirmed' }),
    ...(options['each-event'] && { events: 'each' }),
  })
  const show = (sent: number) => cli.terminal.showProgress(`Sending  ${bar(sent, size, formatBytes)}`)
  const body = ReadableStream.from(countRows(bytes, { format, isGzip, rows, onBytes: show }))
  try {
    const created = (await api.call(`/contacts/import?${query.toString()}`, {
      method: 'POST',
      headers: {
        'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
        'idempotency-key': randomUUID(),
        ...(isGzip && { 'content-encoding': 'gzip' }),
      },
      body,
      duplex: 'half',
      signal: cli.stopping,
    })) as Import
    cli.terminal.tell(`${created.id} is taken in.`)
    return created.id
  } catch (error) {
    const tellLater = `Whether the file was taken, GET ${api.url}/imports tells.`
    if (cli.stopping.aborted) {
      // All of it was sent, and the answer not awaited.
      const fate = rows.count === undefined ? 'Nothing was imported: the file had not gone up.' : tellLater
      throw new CommandFailed(fate, exitCodes.interrupted)
    }
    if (error instanceof ApiRefused) throw error
    throw new CommandFailed(`${describeFailure(error)} ${tellLater}`)
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

/** Until the import has ended: its record; or until Ctrl-C: undefined. */
async function followImport({ cli, api, rows }: Session, id: string): Promise<Import | undefined> {
  const { terminal, stopping } = cli
  try {
    for (;;) {
      const record = (await api.follow(`/imports/${id}`)) as Import
      if (record.status === 'COMPLETED' || record.status === 'FAILED') return record
      const state = record.status === 'QUEUED' ? 'Waiting  ' : 'Importing'
      const format = (count: number) => `${count.toLocaleString('en')} rows`
      terminal.showProgress(`${state} ${bar(record.processed, rows.count, format)}`)
      await sleep(pollMs, undefined, { signal: stopping })
    }
  } catch (error) {
    if (!stopping.aborted) throw error
    terminal.tell(`The import goes on in the server. To look at it again:\n  pnpm rapport import --follow ${id}`)
    return undefined
  }
}

function report({ terminal }: CliContext, record: Import, asJson: boolean): number {
  for (const { line, message } of record.errors) terminal.tell(`line ${line}: ${message}`)
  const unseen = record.failed - record.errors.length
  if (unseen > 0) terminal.tell(`and ${unseen.toLocaleString('en')} more`)
  const { id, status, dryRun, processed, created, updated, skipped, failed } = record
  const counts = Object.entries({ processed, created, updated, skipped, failed }).map(
    ([what, count]) => `${count.toLocaleString('en')} ${what}`,
  )
  const what = status === 'FAILED' ? 'failed' : dryRun ? 'was checked, and nothing written' : 'is done'
  const text = `${id} ${what}: ${counts.join(', ')}`
  terminal.print(asJson ? JSON.stringify(record) : text)
  return status === 'COMPLETED' && failed === 0 ? exitCodes.good : exitCodes.failed
}

/** "[######..............]  30 %  3.0 MB"; without the bar when the whole is not known. */
function bar(done: number, whole: number | undefined, format: (amount: number) => string): string {
  if (!whole) return format(done)
  const part = Math.min(1, done / whole)
  const filled = Math.round(part * 24)
  return `[${'#'.repeat(filled)}${'.'.repeat(24 - filled)}] ${Math.floor(part * 100)} %  ${format(done)}`
}

const formatBytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
