import { cancelImport, lockImport } from '@rapport/core/imports/cancel-import.ts'
import { discardImport, listImports, queueImport, readImport, receiveImport } from '@rapport/core/imports/imports.ts'
import { Import, ImportOptions, ImportQuery } from '@rapport/core/imports/imports.schema.ts'
import type { ImportId } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { fileTypes } from '../http/uploads/file-formats.ts'
import { acceptFiles, idempotentUpload, type Upload, type UploadTimings } from '../http/uploads/idempotent-upload.ts'
import { Empty, IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Imports'], security: [{ bearer: [] }] }
const params = IdParams('imp')
const currentImport = recordById(Import, { lock: lockImport, read: readImport })

const contactsFile: Upload<{ ctx: Ctx; query: ImportOptions }, ImportId, Import> = {
  receive: ({ ctx, query }, { content, ...format }) => receiveImport(ctx, { ...format, ...query }, content),
  async finish({ ctx }, reply, id) {
    const queued = await queueImport(ctx, id)
    reply.code(202).header('location', `/imports/${id}`)
    return queued
  },
  discard: ({ ctx }, id) => discardImport(ctx, id),
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
          'The body is a file in UTF-8, or in another `encoding`, of up to 4 GiB: either CSV with a header row (`text/csv`; separated by comma, semicolon or tab, or as a first line such as `sep=;` says), or NDJSON with one object per line in the format of `POST /contacts` (`application/x-ndjson`). The body may be compressed with `content-encoding: gzip`, at most to a hundredth of its size.',
          'Columns are matched by name in any usual spelling (`Email`, `first_name`, `First Name`), and custom fields by `customField.<key>`, key or label. An unknown column returns 400. Tags are separated by `;` or `,`. Empty cells at the end of a row may be missing. A cell such as `="0049"` is a text. An exported file can be imported without changes.',
          'Numbers may have a decimal comma and thousands separators. The whole column decides: with `1.234,56` in a column, `1.234` is 1234. A column with both marks, or only with numbers that can be read in two ways, fails the import before a contact is written.',
          'The rows are imported in the background; `GET /imports/{id}` shows the progress. Invalid rows are counted as `failed` and listed with their line numbers; they do not stop the import. An import emits one `import.completed` event instead of one event per contact. With `events=each`, it also emits the event of each contact.',
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
        querystring: NoQuery,
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
          'Stops an import. Its status becomes `CANCELED`, the contacts that it has imported remain, and its file is deleted. Emits `import.completed` unless it was a dry run or still being uploaded; the upload then fails with 409. An import that has ended returns 409.',
        params,
        querystring: NoQuery,
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
