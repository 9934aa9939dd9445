import { canonicalLocale } from '@rapport/core/kernel/values/locale.ts'
import { honeypotId, PublicForm } from '@rapport/core/forms/forms.schema.ts'
import { SubmitInput, SubmitResult } from '@rapport/core/forms/submissions.schema.ts'
import { submitForm } from '@rapport/core/forms/submissions.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PageQuery } from '../pages/page-language.ts'
import { isNotModified, readIfMatch, toVersions } from '../http/conditional-requests/entity-tags.ts'
import { readIdempotencyKey } from '../http/handlers/idempotency.ts'
import type { PublicFormCache } from '../http/public-form-cache.ts'
import { type ConstantTime, roundUpDuration } from '../http/constant-time.ts'
import { IdParams, PublicQuery } from './shapes.ts'

const params = IdParams('frm')
const NotModified = z.null().describe('Not modified')

const submitFormDescription =
  `\`values\` maps field ids to values. The \`path\` of each of the \`issues\` is a field id. With ` +
  `\`Idempotency-Key\`, repeated requests with the same values make one submission. With \`If-Match\` and the ` +
  `form's ETag, returns 412 if the form has changed since. \`${honeypotId}\` is a honeypot: add an input with this ` +
  `name that visitors cannot see; a submission that fills it in is counted and dropped. The errors of the values ` +
  `are in the language of the visitor, or in that of the form, and a contact without a locale gets it.`

/** The public routes for forms on any site. They require no credential. */
export function publicFormRoutes(publicForms: PublicFormCache): FastifyPluginAsyncZod<ConstantTime> {
  return async (app, timings) => {
    app.get(
      '/public/forms/:id',
      {
        schema: {
          tags: ['Forms'],
          operationId: 'public.getForm',
          summary: 'Retrieve a public form',
          description: 'Returns the public part of the form, with an `ETag`. A disabled form returns 404.',
          params,
          querystring: PublicQuery,
          response: { 200: PublicForm, 304: NotModified },
        },
      },
      async (request, reply) => {
        const { body, etag } = await publicForms.get(request.baseCtx, request.params.id)
        reply.header('etag', etag).cacheControl('public').cacheControl('no-cache')
        if (isNotModified(request.headers['if-none-match'], etag)) return reply.code(304).send(null)
        // The cache holds the serialized body.
        return reply.type('application/json; charset=utf-8').send(body as never)
      },
    )

    app.post(
      '/public/forms/:id/submit',
      {
        config: { rateLimit: { max: 20 }, errorStatuses: [403, 409, 412], recognizesRepetition: true },
        schema: {
          tags: ['Forms'],
          operationId: 'public.submitForm',
          summary: 'Submit a form',
          description: submitFormDescription,
          params,
          querystring: PageQuery,
          body: SubmitInput,
          response: { 201: SubmitResult },
        },
      },
      async (request, reply) => {
        const submit = {
          ...request.body,
          locale: canonicalLocale(request.query.lang ?? ''),
          repetitionKey: readIdempotencyKey(request),
          versions: versionsIn(request.headers['if-match']),
        }
        const result = await roundUpDuration(timings, () => submitForm(request.baseCtx, request.params.id, submit))
        reply.code(201)
        return result
      },
    )
  }
}

/** The form versions that `If-Match` accepts; undefined for any. Proxies between the visitor and the API change tags. */
function versionsIn(header: string | undefined): string[] | undefined {
  const tags = readIfMatch(header) ?? '*'
  return tags === '*' ? undefined : toVersions(tags).map((tag) => tag.replaceAll('"', ''))
}
