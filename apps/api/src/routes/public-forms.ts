import { honeypotId, PublicForm, SubmitInput, SubmitResult } from '@rapport/core/forms/forms.schema.ts'
import { submitForm } from '@rapport/core/forms/submissions.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { readIdempotencyKey } from '../http/idempotency.ts'
import type { PublicFormCache } from '../http/public-form-cache.ts'
import { inConstantTime } from '../http/constant-time.ts'
import { IdParams, NoQuery } from './shapes.ts'

const params = IdParams('frm')
const NotModified = z.null().describe('You have it already')

/** What a form on any site calls, without a key. */
export function publicFormRoutes(publicForms: PublicFormCache): FastifyPluginAsyncZod {
  return async (app) => {
    app.get(
      '/public/forms/:id',
      {
        schema: {
          tags: ['Forms'],
          summary: 'Read what a form shows',
          description: 'With an ETag. A form that is disabled is not found.',
          params,
          querystring: NoQuery,
          response: { 200: PublicForm, 304: NotModified },
        },
      },
      async (request, reply) => {
        const { body, etag } = await publicForms.get(request.baseCtx, request.params.id)
        reply.header('etag', etag).cacheControl('public').cacheControl('no-cache')
        if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send(null)
        // Text, so that it goes out as the cache holds it.
        return reply.type('application/json; charset=utf-8').send(body as never)
      },
    )

    app.post(
      '/public/forms/:id/submit',
      {
        config: { rateLimit: { max: 20 }, errorStatuses: [412] },
        schema: {
          tags: ['Forms'],
          summary: 'Submit a form',
          description: `Values by the ids of the fields. Issues name the field they are about. With \`Idempotency-Key\`, the same values sent again are the same submission. With \`If-Match\` and the form's ETag, a form that has changed meanwhile is a 412. \`${honeypotId}\` is a trap: give it a field that people do not see; a submission that fills it is dropped.`,
          params,
          querystring: NoQuery,
          body: SubmitInput,
          response: { 201: SubmitResult },
        },
      },
      async (request, reply) => {
        const submit = {
          ...request.body,
          repetitionKey: readIdempotencyKey(request),
          versions: versionsIn(request.headers['if-match']),
        }
        const result = await inConstantTime(() => submitForm(request.baseCtx, request.params.id, submit))
        reply.code(201)
        return result
      },
    )
  }
}

/** Whether `If-None-Match` names the tag: any of a list, weak or not, or `*` (RFC 9110 §13.1.2). */
function namesTag(header: string | undefined, etag: string): boolean {
  return header !== undefined && tagsIn(header).some((tag) => tag === etag || tag === '*')
}

/** The versions that `If-Match` takes; undefined when it takes any. A proxy that compresses makes a tag a weak one. */
function versionsIn(header: string | undefined): string[] | undefined {
  const tags = header === undefined ? ['*'] : tagsIn(header)
  return tags.includes('*') ? undefined : tags.map((tag) => tag.replaceAll('"', ''))
}

const tagsIn = (header: string) => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
