/** What the OpenAPI document needs beyond what the plugins make of the routes' schemas. */
import { STATUS_CODES } from 'node:http'
import type { SwaggerTransform } from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { describeEventTypes } from '@rapport/core/operations/event-types.ts'
import { z } from 'zod'
import { NoBody } from '../routes/shapes.ts'

const idempotencyKey = {
  type: 'object',
  properties: {
    'Idempotency-Key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'Any text of yours. A repetition within 24 hours gets the first answer again and changes nothing.',
    },
  },
}

/** One route: its schemas in JSON Schema, the examples of its body, and the header that every authenticated POST takes. */
export const describeRoute: SwaggerTransform = (input) => {
  const { schema, url } = jsonSchemaTransform(input)
  if (!schema || schema.hide) return { schema, url }
  const { body } = input.schema
  if (body === NoBody) delete schema.body
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

/** The whole document: named schemas as components, those that nothing refers to left out, answers named by status. */
export function finishDocument(input: Parameters<typeof jsonSchemaTransformObject>[0]) {
  const document = jsonSchemaTransformObject(input)
  addUsedTags(document as Document)
  nameResponses(document as Document)
  describeWebhooks(document as Document)
  dropUnusedSchemas(document as Document)
  return document
}

/** A heading of routes that has no place in the reading order comes last. */
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

/** What receivers are sent: a request for each type of event, signed as Standard Webhooks. */
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
      responses: { '2XX': { description: 'Taken. Anything else, or nothing within ten seconds, has failed' } },
    }
    return [type, { post }]
  })
  document.webhooks = Object.fromEntries(described) as Record<string, unknown>
}

/** Why a request is refused with a status, where the name of the status does not say it all. */
const errorDescriptions: Record<string, string> = {
  400: 'Not understood: `issues` name each field',
  401: 'No credential, or one that is not valid',
  403: 'The role of the credential does not suffice',
  404: 'There is no such record in the workspace',
  408: 'The body came too slowly',
  409: 'In conflict with what is there, or with a request that still runs',
  412: 'Changed meanwhile',
  413: 'The body is too large',
  415: 'The body is of another content type',
  422: 'Understood, and still not possible; or an `Idempotency-Key` of another request',
  429: 'Too many requests of this client to this endpoint',
  500: 'Failed inside: the log says more, by the `requestId` of the answer',
  503: 'Temporarily unavailable: try again',
}

const seconds = (description: string) => ({ description, required: true, schema: { type: 'integer', minimum: 0 } })
const retryAfter = { 'retry-after': seconds('Seconds after which to try again') }
const errorHeaders: Record<string, object> = {
  401: { 'www-authenticate': { schema: { type: 'string' } } },
  429: {
    ...retryAfter,
    'x-ratelimit-limit': { required: true, schema: { type: 'integer' }, description: 'Requests in 60 seconds' },
    'x-ratelimit-remaining': { required: true, schema: { const: 0 }, description: 'Requests that are left' },
    'x-ratelimit-reset': seconds('Seconds until all of them are there again'),
  },
  503: retryAfter,
}

const errorReference = '#/components/schemas/Error'
const errorContent = { 'application/json': { schema: { $ref: errorReference } } }

/** Answers are named by their status, and what many routes refuse with alike is written once. */
function nameResponses(document: Document) {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))
  const shared: Record<string, unknown> = {}
  for (const { responses = {} } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response) continue
      const [reason, name = 'Answer'] = [errorDescriptions[status], STATUS_CODES[status]]
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

/** Each named schema is made twice, as it comes in and as it goes out, and few are needed in both. */
function dropUnusedSchemas(document: Document) {
  const schemas = document.components?.schemas ?? {}
  for (let dropped = true; dropped; ) {
    const isUnused = (name: string) => !JSON.stringify(document).includes(`"#/components/schemas/${name}"`)
    const unused = Object.keys(schemas).filter(isUnused)
    for (const name of unused) delete schemas[name]
    dropped = unused.length > 0
  }
}
