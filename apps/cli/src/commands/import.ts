import { ImportOptions } from '@rapport/core/imports/imports.schema.ts'
import { z } from 'zod'
import { apiOptions, givenOf, openApi } from '../api-client.ts'
import { defineCommand, exitCodes, flag, jsonFlag, option, usageError } from '../command.ts'
import { IdOption } from '../id-option.ts'
import { findExportFiles } from '../imports/export-files.ts'
import { describeImport, followImport, isSuccessful, logErrors } from '../imports/follow-import.ts'
import { completeFields } from '../imports/missing-fields.ts'
import { moveIn } from '../imports/move-in.ts'
import { type Session, uploadFile } from '../imports/upload-file.ts'

const { onConflict, listId, source, status, columns } = ImportOptions.shape

const options = z.strictObject({
  file: z
    .string()
    .optional()
    .meta(option('<file>', 'CSV or NDJSON, optionally as .gz; "-" is standard input; with --from also a folder')),
  from: source.meta(option('<system>', 'Reads what listmonk, mailchimp, brevo, resend or loops exports, as it is')),
  'create-fields': z
    .boolean()
    .default(false)
    .meta(flag('With --from: creates the custom fields that the export has and the workspace does not')),
  verify: z
    .boolean()
    .default(false)
    .meta(flag('With --from: compares the people of the export with those here at the end')),
  format: z
    .enum(['csv', 'ndjson'], 'must be csv or ndjson')
    .optional()
    .meta(option('<format>', 'csv or ndjson (default: by file name, otherwise csv)')),
  'on-conflict': onConflict.meta(option('<action>', 'For existing contacts: skip or update (default: skip)')),
  list: listId.meta(
    option('<lst_…>', 'Subscribes the contacts to this list; rows that confirm require --consent or --from'),
  ),
  consent: z
    .boolean()
    .default(false)
    .meta(flag('States that all contacts in the file agreed to receive emails of the list')),
  status: status.meta(
    option(
      '<status>',
      'Of all rows, in addition to that of each, and with --from to what the file name says: CONFIRMED, PENDING, NONE, UNSUBSCRIBED, OPTED_OUT, MANUAL, BOUNCED or COMPLAINED',
    ),
  ),
  columns: z
    .string()
    .refine((text) => columns.safeParse(text).success, 'must be JSON such as {"Mail":"email","Notes":null}')
    .optional()
    .meta(
      option('<json>', 'Maps headers to properties, such as {"Mail":"email","Notes":null}; null leaves a column out'),
    ),
  'ignore-unknown': z.boolean().default(false).meta(flag('Leaves columns out that are not known, instead of failing')),
  'create-companies': z
    .boolean()
    .default(false)
    .meta(flag('Creates the companies that rows name by companyExternalId or companyDomain')),
  'each-event': z
    .boolean()
    .default(false)
    .meta(flag('Also emits an event for each new or updated contact or company and each subscription')),
  'dry-run': z.boolean().default(false).meta(flag('Validates and counts the rows without writing anything')),
  follow: IdOption('imp')
    .optional()
    .meta(option('<imp_…>', 'Shows the progress of a running import, instead of uploading a file')),
  json: jsonFlag('Prints the import as JSON'),
  ...apiOptions,
})
type Options = z.output<typeof options>

export const importContacts = defineCommand({
  positionals: ['file'],
  options,
  notes: [
    'Column names are accepted in any usual spelling (Email, first_name, First Name): see POST /contacts/import.',
    'Ctrl-C during the upload cancels the import; after the upload the import continues on the server. If rows',
    'failed, the exit code is 1, and the first hundred errors are printed to standard error. With --from, the same',
    'command continues after it was stopped, and --list states that those whom the system mails have agreed to it.',
    'Of --status and the name of a file in a folder, the stricter counts, and UNSUBSCRIBED with MANUAL or BOUNCED is',
    'OPTED_OUT. A single file whose name is stricter than --status is refused.',
  ].join('\n'),
  async run(cli, options) {
    requireConsistent(options)
    const api = openApi(cli, options, { shouldRetryForever: true })
    const { file = '-', from, follow } = options
    if (from) {
      const files = await findExportFiles({ source: from, path: file, status: options.status })
      const unclear = from === 'listmonk' && options.list && files.find(({ status }) => status === undefined)
      if (unclear)
        cli.terminal.log(
          `${unclear.name}: listmonk does not say in this file who has left the list. Import those who have too: see docs/guides/moving.md`,
        )
      if (!options['ignore-unknown'] || options['create-fields'])
        await completeFields(
          { cli, api, rows: { count: undefined } },
          { source: from, files, columns: columnsOf(options) },
          { creates: options['create-fields'] },
        )
      const query = { ...queryOf(options), ...(options.list !== undefined && { consent: 'confirmed' as const }) }
      return moveIn({ cli, api }, { source: from, files, query, isVerified: options.verify, asJson: options.json })
    }
    const session = { cli, api, rows: { count: undefined } }
    const id = follow ?? (await upload(session, { ...options, file }))
    const done = await followImport(session, id)
    if (done === undefined) return exitCodes.interrupted
    logErrors(cli, done)
    cli.terminal.print(options.json ? JSON.stringify(done) : describeImport(done))
    return isSuccessful(done) ? exitCodes.success : exitCodes.failed
  },
})

const uploadOptions = [
  'from',
  'on-conflict',
  'list',
  'consent',
  'status',
  'columns',
  'format',
  'ignore-unknown',
  'create-companies',
  'each-event',
  'dry-run',
  'verify',
  'create-fields',
] as const

/** An option that has no effect would be ignored in silence. */
function requireConsistent({ file, follow, from, ...options }: Options): void {
  if ((file === undefined) === (follow === undefined))
    throw usageError('exactly one of <file> and --follow is required')
  if (follow !== undefined) {
    const given = { from, ...options, 'on-conflict': options['on-conflict'] !== 'skip' }
    const ignored = uploadOptions.find((name) => (given[name] ?? false) !== false)
    if (ignored) throw usageError(`--follow uploads nothing: it takes no --${ignored}`)
  }
  if (from && (file === '-' || file === undefined)) throw usageError('--from requires a file or a folder')
  if (from && /\.(gz|zip)$/.test(file ?? '')) throw usageError(`<file>: extract ${file} first`)
  if (options.verify && (!from || options['dry-run'])) throw usageError('--verify requires --from, without --dry-run')
  if (from && options.format) throw usageError('--from knows the format: it takes no --format')
  if (options.consent && options.list === undefined) throw usageError('--consent requires --list')
  if (options['create-fields'] && (!from || options['dry-run']))
    throw usageError('--create-fields requires --from, without --dry-run')
}

async function upload(session: Session, options: Options & { file: string }): Promise<string> {
  const { file, list, status } = options
  const format = options.format ?? (/\.(ndjson|jsonl)(\.gz)?$/.test(file) ? 'ndjson' : 'csv')
  const isConfirmed = list !== undefined && options.consent
  const query = { ...queryOf(options), ...givenOf({ status }), ...(isConfirmed && { consent: 'confirmed' as const }) }
  const { id } = await uploadFile(session, { file, format, query })
  session.cli.terminal.log(`${id} is queued.`)
  return id
}

const columnsOf = ({ columns: text }: Options) => columns.safeParse(text).data ?? {}

function queryOf(options: Options) {
  return {
    ...givenOf({ listId: options.list, columns: options.columns }),
    onConflict: options['on-conflict'],
    dryRun: options['dry-run'],
    ...(options['each-event'] && { events: 'each' as const }),
    ...(options['ignore-unknown'] && { unknownColumns: 'ignore' as const }),
    ...(options['create-companies'] && { createCompanies: true }),
  }
}
