/** What the OpenAPI document needs beyond what the plugins make of the routes' schemas. */
import { STATUS_CODES } from 'node:http'
import type { SwaggerTransform } from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { describeEventTypes } from '@rapport/core/webhooks/event-catalog.ts'
import { z } from 'zod'
import { NoBody } from './routes/shapes.ts'

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

interface Document {
  webhooks?: Record<string, unknown>
  paths?: Record<string, Record<string, { responses?: Record<string, { description: string }> }>>
  components?: { schemas?: Record<string, unknown> }
}

/** The whole document: named schemas as components, those that nothing refers to left out, answers named by status. */
export function finishDocument(input: Parameters<typeof jsonSchemaTransformObject>[0]) {
  const document = jsonSchemaTransformObject(input)
  nameResponses(document as Document)
  describeWebhooks(document as Document)
  dropUnusedSchemas(document as Document)
  return document
}

const signed = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
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
      parameters: signed,
      requestBody: { required: true, content: { 'application/json': { schema: body, example } } },
      responses: { '2XX': { description: 'Taken. Anything else, or nothing within ten seconds, has failed' } },
    }
    return [type, { post }]
  })
  document.webhooks = Object.fromEntries(described) as Record<string, unknown>
}

function nameResponses({ paths = {} }: Document) {
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  for (const [status, response] of operations.flatMap(({ responses = {} }) => Object.entries(responses))) {
    if (response.description !== 'Default Response') continue
    response.description = status === '4XX' ? 'Refused, with the reason' : (STATUS_CODES[status] ?? 'Answer')
  }
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
