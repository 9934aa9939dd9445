import { lockImport } from '@rapport/core/imports/import-record.ts'
import {
  cancelImport,
  discardImport,
  listImports,
  queueImport,
  readImport,
  receiveImport,
} from '@rapport/core/imports/imports.ts'
import { Import, ImportOptions, ImportQuery, SuppressionImportOptions } from '@rapport/core/imports/imports.schema.ts'
import type { ImportId } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { fileTypes } from '../http/uploads/file-formats.ts'
import { acceptFiles, idempotentUpload, type Upload, type UploadTimings } from '../http/uploads/idempotent-upload.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Imports'], security: [{ bearer: [] }] }
const params = IdParams('imp')
const currentImport = recordById(Import, { lock: lockImport, read: readImport })

type ImportUpload<Query> = Upload<{ ctx: Ctx; query: Query }, ImportId, Import>

const queued: Pick<ImportUpload<unknown>, 'finish' | 'discard'> = {
  async finish({ ctx }, reply, id) {
    const record = await queueImport(ctx, id)
    reply.code(202).header('location', `/imports/${id}`)
    return record
  },
  discard: ({ ctx }, id) => discardImport(ctx, id),
}
const contactsFile: ImportUpload<ImportOptions> = {
  receive: ({ ctx, query }, { content, ...format }) => receiveImport(ctx, { ...format, ...query }, content),
  ...queued,
}
const suppressionsFile: ImportUpload<SuppressionImportOptions> = {
  receive: ({ ctx, query }, { content, ...format }) =>
    receiveImport(ctx, { kind: 'SUPPRESSIONS', ...format, ...query }, content),
  ...queued,
}

export const importRoutes: FastifyPluginAsyncZod<UploadTimings> = async (app, timings) => {
  const uploads = acceptFiles(app, timings)

  app.post(
    '/contacts/import',
    {
      config: { streamsBody: true, hasOwnQuota: true },
      schema: {
        ...common,
        operationId: 'imports.create',
        summary: 'Import contacts',
        description: [
          'The body is a file in UTF-8, or in another `encoding`, of up to 4 GiB: either CSV with a header row (`text/csv`; separated by comma, semicolon, tab or `|`, or as a first line such as `sep=;` says), or NDJSON with one object per line in the format of `POST /contacts` (`application/x-ndjson`). The body may be compressed with `content-encoding: gzip`, at most to a hundredth of its size.',
          'Columns are matched by name in any usual spelling (`Email`, `first_name`, `First Name`), and custom fields by `customField.<key>`, key or label. `name` is split at its first space. `columns` maps other names, and `source` reads the export of another system as it is. An unknown column returns 400, unless `unknownColumns=ignore`, which never leaves out a column whose name or values speak of consent, opt-in or opt-out: map it to `status`, or to `null`. Well-known ones such as `subscribed_to_emails`, `Unsubscribed from all email`, `do_not_contact` and `Email Opt Out` are read without a mapping, with yes and no in six languages. Tags are separated by `;`, `,` or line breaks, or are an array such as `["a","b"]`. An address may have a name: `Ada <ada@example.com>`. Empty cells at the end of a row may be missing. A cell such as `="0049"` is a text. An exported file can be imported without changes.',
          '`companyExternalId` and `companyDomain` name the company of a contact. A key that no company has is an error of its row, unless `createCompanies=true` creates the company, with the name in `companyName`.',
          'Numbers may have a decimal comma and thousands separators. The whole column decides: with `1.234,56` in a column, `1.234` is 1234. A column with both marks, or only with numbers that can be read in two ways, fails the import before a contact is written.',
          'The column `status` says what a person wants: `CONFIRMED`, `PENDING`, `UNSUBSCRIBED`, `BOUNCED`, `COMPLAINED`, or a word of other systems such as `subscribed`, `active`, `unconfirmed`, `blocklisted`, `cleaned`, `archived`. An unknown word is an error of its row, which lists the known ones. A row with `unsubscribedAt` is an opt-out, whatever its status says, and so is one whose `emailSubscribedStatus` is that of an export of Rapport. `UNSUBSCRIBED` with `listId` is an opt-out of the list; without it, and for `blocklisted`, bounces and complaints, the address is suppressed in the workspace. `PENDING` subscribes without an email. `non-subscribed`, `archived` and an empty cell make a contact without a subscription.',
          '**An import never widens consent.** The file is read twice: the first pass commits all opt-outs, bounces and complaints, also of rows that become no contact, and the second writes people. So these win over every confirmation of the same address or `externalId`, in whatever order the rows stand, and over what is stored; an import that is canceled or fails between its rows makes no address mailable that the whole file does not. `confirmedAt` and `optInAddress` go into the proof of consent, marked `claimed`; `unsubscribedAt` is the moment of an opt-out or bounce. Moments are ISO 8601 or as other systems write them (`2026-11-21 06:35:49`, `21-11-2026`, `21 Nov 2026 6:35 AM`, seconds or milliseconds since 1970), in UTC without a time zone, if they can be read in one way only; a date of zeros is none.',
          'The rows are imported in the background; `GET /imports/{id}` shows the progress. Invalid rows are counted as `failed` and listed with their line numbers; they do not stop the import. A value that cannot be read is left out with a warning, and does not fail its row, unless it is a key, a status or a consent. An `externalId` such as `1.23457E+14` is an error, because a spreadsheet has shortened it. A row of NDJSON with a key twice is an error, and a 400 if it is in the first MiB. An import emits one `import.completed` event instead of one event per contact. With `events=each`, it also emits the events of each contact and company.',
          'A workspace can have 5 imports that are received, queued or running; one more returns 409 with the code `quota_exceeded`. Imports take turns, so a large one delays the others little.',
        ].join('\n\n'),
        consumes: fileTypes,
        querystring: ImportOptions,
        body: z.unknown().meta({ type: 'string', format: 'binary' }),
        response: { 202: Import },
      },
    },
    idempotentUpload(uploads, contactsFile),
  )

  app.post(
    '/suppressions/import',
    {
      config: { streamsBody: true, hasOwnQuota: true },
      schema: {
        ...common,
        tags: ['Suppressions'],
        operationId: 'suppressions.import',
        summary: 'Import suppressions',
        description: [
          'Suppresses all addresses of a file of any length, up to 4 GiB. The body is CSV (`text/csv`) or NDJSON (`application/x-ndjson`), in UTF-8 or another `encoding`, and may be compressed with `content-encoding: gzip`. One column of addresses will do, with the header `email` or without a header. The columns `reason`, `saidAt` (`createdAt`, `created`) and `listId` are read if there, also in the files of SendGrid, Mailgun, Postmark, Brevo, Amazon SES, SparkPost, Mandrill, MailUp, Keila, Ghost, HubSpot and Loops. A cell may have several addresses. `reason` is `COMPLAINED`, `OPTED_OUT`, `BOUNCED` or `MANUAL`, a word of another system such as `unsubscribed`, `blocklisted`, `cleaned` or `spam`, or the response of a mail server. **An address that can be read is suppressed, whatever else its row says**: an unknown reason is that of the parameter, a moment that cannot be read is now, an unknown list is all of them; each is a warning. Moments are read as in an import of contacts.',
          'Reasons add up, and each known one stays. The subscriptions of contacts with these addresses end at once. The import is an Import as those of contacts, with the kind `SUPPRESSIONS`: `created` counts new suppressions, `updated` those that got another reason, `skipped` rows that changed nothing, and `suppressed` all of them. Imports of both kinds share the quota.',
        ].join('\n\n'),
        consumes: fileTypes,
        querystring: SuppressionImportOptions,
        body: z.unknown().meta({ type: 'string', format: 'binary' }),
        response: { 202: Import },
      },
    },
    idempotentUpload(uploads, suppressionsFile),
  )

  app.get(
    '/imports',
    {
      schema: {
        ...common,
        operationId: 'imports.list',
        summary: 'List imports',
        description: 'Returns the imports of the workspace with their counts.',
        querystring: ImportQuery,
        response: { 200: PageOf(Import) },
      },
    },
    (request) => listImports(request.ctx, request.query),
  )

  app.get(
    '/imports/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'imports.get',
        summary: 'Retrieve an import',
        description:
          'Returns the import with its counts so far. Request it again until `status` is `COMPLETED`, `FAILED` or `CANCELED`.',
        params,
        response: { 200: Import },
      },
    },
    (request) => readImport(request.ctx, request.params.id),
  )

  app.delete(
    '/imports/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'imports.cancel',
        summary: 'Cancel an import',
        description:
          'Stops an import. Its status becomes `CANCELED`, the contacts and opt-outs that it has imported remain, and its file is deleted. Emits `import.completed` unless it was a dry run or still being uploaded; the upload then fails with 409. An import that has ended returns 409.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentImport, async (request, reply) => {
      await cancelImport(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
