/** Completes the OpenAPI document that the plugins generate from the route schemas. */
import { STATUS_CODES } from 'node:http'
import type { SwaggerTransform } from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { describeEventTypes } from '@rapport/core/operations/event-types.ts'
import { z } from 'zod'
import { EmptyBody } from '../routes/shapes.ts'

const idempotencyKey = {
  type: 'object',
  properties: {
    'Idempotency-Key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description:
        'A unique value chosen by the client. A repeated request with the same key within 24 hours has no effect and returns the stored response with `idempotent-replayed: true`. Returns 409 while the first request is still running, and 422 if the key was used for another request.',
    },
  },
}

/** Describes one route: its JSON Schemas, the examples of its body, and `Idempotency-Key` for authenticated POSTs. */
export const describeRoute: SwaggerTransform = (input) => {
  const { schema, url } = jsonSchemaTransform(input)
  if (!schema || schema.hide) return { schema, url }
  const { body } = input.schema
  if (body === EmptyBody) delete schema.body
  const examples = body instanceof z.ZodType ? body.meta()?.['examples'] : undefined
  const takesKey = input.route.method === 'POST' && schema.security
  return {
    schema: {
      ...schema,
      ...(examples !== undefined && { body: { ...(schema.body as object), examples } }),
      ...(takesKey && { headers: idempotencyKey }),
    },
    url,
  }
}

interface DocumentedResponse {
  description: string
  content?: Record<string, { schema: { $ref?: string } }>
}
interface DocumentedOperation {
  tags?: string[]
  responses?: Record<string, DocumentedResponse | { $ref: string }>
}
interface Document {
  tags?: { name: string }[]
  webhooks?: Record<string, unknown>
  paths?: Record<string, Record<string, DocumentedOperation>>
  components?: { schemas?: Record<string, unknown>; responses?: Record<string, unknown> }
}

/** Finishes the document: adds tags and webhooks, names shared responses and drops unused schemas. */
export function finishDocument(input: Parameters<typeof jsonSchemaTransformObject>[0]) {
  const document = jsonSchemaTransformObject(input)
  addUsedTags(document as Document)
  nameResponses(document as Document)
  describeWebhooks(document as Document)
  dropUnusedSchemas(document as Document)
  return document
}

/** Tags that are not in the reading order come last. */
function addUsedTags(document: Document) {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))
  const names = [...(document.tags ?? []).map(({ name }) => name), ...operations.flatMap(({ tags = [] }) => tags)]
  document.tags = [...new Set(names)].map((name) => ({ name }))
}

const signatureHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
  name,
  in: 'header',
  required: true,
  schema: { type: 'string' },
}))

/** Describes the request that a webhook receives for each event type, signed as Standard Webhooks. */
function describeWebhooks(document: Document) {
  const described = describeEventTypes().data.map(({ type, schema, example }) => {
    const properties = {
      id: { type: 'string' },
      type: { const: type },
      timestamp: { type: 'string', format: 'date-time' },
      data: { $ref: `#/components/schemas/${String(schema['title'])}` },
    }
    const body = { type: 'object', properties, required: Object.keys(properties) }
    const post = {
      summary: type,
      tags: ['Events'],
      parameters: signatureHeaders,
      requestBody: { required: true, content: { 'application/json': { schema: body, example } } },
      responses: {
        '2XX': {
          description:
            'Delivered. With any other status, or without a response within 10 seconds, the delivery has failed.',
        },
      },
    }
    return [type, { post }]
  })
  document.webhooks = Object.fromEntries(described) as Record<string, unknown>
}

/** Descriptions of the error statuses. */
const errorDescriptions: Record<string, string> = {
  400: 'The request is invalid. `issues` lists each invalid field.',
  401: 'The credential is missing or invalid.',
  403: 'The role of the credential is too low.',
  404: 'The record does not exist in this workspace.',
  408: 'The body was sent too slowly.',
  409: 'The request conflicts with the current state of a record, or with a request that is still running.',
  412: 'The record has changed since it was read.',
  413: 'The body is too large.',
  415: 'The content type of the body is not supported.',
  422: 'The `Idempotency-Key` was used for another request.',
  429: 'The client has sent too many requests to this endpoint.',
  500: 'Internal error. The log has the details under the `requestId` of the response.',
  503: 'Temporarily unavailable. Try again.',
}

const seconds = (description: string) => ({ description, required: true, schema: { type: 'integer', minimum: 0 } })
const retryAfter = { 'retry-after': seconds('Seconds to wait before the next request.') }
const errorHeaders: Record<string, object> = {
  401: { 'www-authenticate': { schema: { type: 'string' } } },
  429: {
    ...retryAfter,
    'x-ratelimit-limit': {
      required: true,
      schema: { type: 'integer' },
      description: 'Allowed requests per 60 seconds.',
    },
    'x-ratelimit-remaining': { required: true, schema: { const: 0 }, description: 'Remaining requests.' },
    'x-ratelimit-reset': seconds('Seconds until the limit resets.'),
  },
  503: retryAfter,
}

const errorReference = '#/components/schemas/Error'
const errorContent = { 'application/json': { schema: { $ref: errorReference } } }

/** Describes each response by its status, and moves shared error responses to the components. */
function nameResponses(document: Document) {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))
  const shared: Record<string, unknown> = {}
  for (const { responses = {} } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response) continue
      const [reason, name = 'Response'] = [errorDescriptions[status], STATUS_CODES[status]]
      if (response.description === 'Default Response') response.description = reason ?? name
      const content = Object.values(response.content ?? {})
      if (!reason || content.some(({ schema }) => schema.$ref !== errorReference)) continue
      const key = name.replaceAll(' ', '')
      shared[key] = { description: reason, headers: errorHeaders[status], content: errorContent }
      responses[status] = { $ref: `#/components/responses/${key}` }
    }
  }
  document.components = { ...document.components, responses: shared }
}

/** The plugin adds each named schema twice, as input and as output, but few are used as both. */
function dropUnusedSchemas(document: Document) {
  const schemas = document.components?.schemas ?? {}
  for (let dropped = true; dropped; ) {
    const isUnused = (name: string) => !JSON.stringify(document).includes(`"#/components/schemas/${name}"`)
    const unused = Object.keys(schemas).filter(isUnused)
    for (const name of unused) delete schemas[name]
    dropped = unused.length > 0
  }
}
