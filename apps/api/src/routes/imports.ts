import { createHash, type Hash } from 'node:crypto'
import { httpErrors } from '@fastify/sensible'
import { lockImport, cancelImport } from '@rapport/core/imports/cancel-import.ts'
import { AppError, truncateText } from '@rapport/core/kernel/errors.ts'
import { encodings, type Encoding, findEncoding } from '@rapport/core/imports/file/file-encoding.ts'
import { isKnownKey } from '@rapport/core/request/idempotency.ts'
import { discardImport, listImports, queueImport, readImport, receiveImport } from '@rapport/core/imports/imports.ts'
import { Import, ImportOptions, ImportQuery } from '@rapport/core/imports/imports.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyError, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import type { ApiTimings } from '../http/server/api-timings.ts'
import { handleError } from '../http/errors/error-handler.ts'
import { readCoding } from '../http/body/body-encoding.ts'
import { createUploadLimit } from '../http/body/concurrent-uploads.ts'
import {
  handleIdempotently,
  hashRequest,
  readIdempotencyKey,
  uploadIdempotently,
} from '../http/handlers/idempotency.ts'
import { readUpload } from '../http/body/upload.ts'
import { Empty, IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Imports'], security: [{ bearer: [] }] }
const params = IdParams('imp')

type Format = 'csv' | 'ndjson'

/** Also the types that operating systems and programs give to such files, and to workbooks, which get an explanation. */
const formats = new Map<string, Format>([
  ...[
    'text/csv',
    'application/csv',
    'application/vnd.ms-excel',
    'application/vnd.oasis.opendocument.spreadsheet',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'application/x-csv',
    'text/comma-separated-values',
    'text/tab-separated-values',
    'text/x-comma-separated-values',
    'text/x-csv',
  ].map((type): [string, Format] => [type, 'csv']),
  ...[
    'application/x-ndjson',
    'application/jsonl',
    'application/jsonlines',
    'application/ndjson',
    'application/x-jsonlines',
  ].map((type): [string, Format] => [type, 'ndjson']),
])
const documentedTypes = ['text/csv', 'application/x-ndjson']

type Timings = Pick<ApiTimings, 'uploadIdleMs' | 'uploadGraceMs' | 'quotaTtlMs'>
const currentImport = recordById(Import, { lock: lockImport, read: readImport })

export const importRoutes: FastifyPluginAsyncZod<Timings> = async (app, timings) => {
  const stopping = new AbortController()
  const limitUploads = createUploadLimit(timings)
  app.addHook('preClose', async () => {
    setTimeout(() => stopping.abort(), timings.uploadGraceMs).unref()
  })
  // In this scope only: no JSON, and only the handler reads the body.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async () => undefined)
  app.setErrorHandler((error, request, reply) => {
    const isUnsupportedType = (error as FastifyError).code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
    return handleError(isUnsupportedType ? unsupportedType() : error, request, reply)
  })

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
        consumes: documentedTypes,
        querystring: ImportOptions,
        body: z.unknown().meta({ type: 'string', format: 'binary' }),
        response: { 202: Import },
      },
    },
    uploadIdempotently((request, reply) =>
      limitUploads(request.ctx, async () => {
        const { ctx } = request
        const { format, charset } = formatOf(request)
        const coding = readCoding(request, ['gzip', 'identity'])
        const { encoding = charset, ...options } = request.query
        const content = createHash('sha256')
        const idempotencyKey = readIdempotencyKey(request)
        const upload = readUpload(request, { coding, stopping: stopping.signal, idleMs: timings.uploadIdleMs })
        const file = idempotencyKey === undefined ? upload : hashWhileReading(upload, content)
        const isRepetition = idempotencyKey !== undefined && (await isKnownKey(ctx, idempotencyKey))
        const id = isRepetition
          ? await skipFile(file)
          : await receiveImport(ctx, { ...options, format, encoding }, file)
        let isQueued = false
        try {
          // The member may have been demoted, or the workspace suspended, while the file was sent.
          await request.authorize()
          return (await handleIdempotently(request, reply, {
            hash: () => hashRequest(request, `${format}\n${encoding}\n${content.digest('base64url')}`),
            async work() {
              if (id === undefined) throw responseExpired()
              const queued = await queueImport(request.ctx, id)
              isQueued = true
              reply.code(202).header('location', `/imports/${id}`)
              return queued
            },
          })) as Import
        } finally {
          // The response was replayed or is an error. If the upload cannot be removed now, maintenance removes it later.
          if (id !== undefined && !isQueued) await discardImport(ctx, id).catch(() => {})
        }
      }),
    ),
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

/** A repeated request is answered with the stored response: only the hash of its file is needed. */
async function skipFile(file: AsyncIterable<Buffer>): Promise<undefined> {
  for await (const piece of file) void piece
}

const responseExpired = () =>
  new AppError('unavailable', 'The response for this Idempotency-Key has just expired; try again')

async function* hashWhileReading(pieces: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}

const unsupportedType = () =>
  httpErrors.unsupportedMediaType(`The content type must be ${documentedTypes.join(' or ')}`)

/** The format and encoding of the file, from its content type. */
function formatOf({ headers }: FastifyRequest): { format: Format; charset: Encoding } {
  const [, type = '', parameters = ''] = /^\s*([^\s;]+)\s*(.*)$/.exec(headers['content-type'] ?? '') ?? []
  const format = formats.get(type.toLowerCase())
  if (!format) throw unsupportedType()
  const [, label = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(parameters) ?? []
  const charset = findEncoding(label)
  if (!charset)
    throw httpErrors.unsupportedMediaType(`The charset "${truncateText(label, 40)}" must be ${encodings.join(' or ')}`)
  return { format, charset }
}
