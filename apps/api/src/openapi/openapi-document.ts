/** Completes the OpenAPI document that the plugins generate from the route schemas. */
import type { SwaggerTransform } from '@fastify/swagger'
import type { FastifySchema } from 'fastify'
import { toRequiredRight } from '@rapport/core/auth/rights/rights.ts'
import { completeJsonSchema, simplifySchemas } from '@rapport/core/kernel/json-schema.ts'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { requiredRole } from '../http/required-role.ts'
import { isWrappedBy } from '../http/handlers/wrap-handler.ts'
import { EmptyBody } from '../routes/shapes.ts'
import { conditionalHeaders } from './conditional-headers.ts'
import { type Document, operationsOf } from './document.ts'
import { describeEventData, describeEventWebhooks } from './event-webhooks.ts'
import { describeResponses } from './responses.ts'

const zodToJsonConfig = { override: completeJsonSchema }
const toJsonSchemas = createJsonSchemaTransform({ zodToJsonConfig })
const addSchemas = createJsonSchemaTransformObject({ zodToJsonConfig })

const idempotencyKey = {
  'Idempotency-Key': {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description:
      'A unique value chosen by the client. A repeated request with the same key within 24 hours has no effect and returns the stored response with `idempotent-replayed: true`. Returns 409 while the first request is still running, and 422 if the key was used for another request.',
  },
}

const repetitionKey = {
  'Idempotency-Key': {
    ...idempotencyKey['Idempotency-Key'],
    description:
      'A unique value chosen by the client. A repeated request with the same key and the same values makes no second submission and returns the first one.',
  },
}

/** Describes one route: its JSON Schemas, the role that it requires, and its request headers. */
export const describeRoute: SwaggerTransform = (input) => {
  const { schema, url } = toJsonSchemas(input)
  if (!schema || schema.hide) return { schema, url }
  if (input.schema.body === EmptyBody) delete schema.body
  const { security = [] } = schema
  const isSecured = security.some((scheme) => 'bearer' in scheme)
  const headers = {
    ...(isWrappedBy('idempotent', input.route) && idempotencyKey),
    ...(input.route.config?.recognizesRepetition && repetitionKey),
    ...conditionalHeaders(input.route),
  }
  return {
    schema: {
      ...schema,
      ...(schema.querystring !== undefined && { querystring: describeQuery(schema.querystring as Query) }),
      ...(Object.keys(headers).length > 0 && { headers: { type: 'object', properties: headers } }),
      security,
      ...(isOptional(input.schema) && { [optionalBody]: true }),
      ...(isSecured && { 'x-required-role': requiredRole(input.route), ...describeRight(input.schema) }),
    },
    url,
  }
}

/** What `rights` of an API key must include; left out if they cannot. */
function describeRight({ operationId = '' }: FastifySchema) {
  const right = toRequiredRight(operationId)
  return right === undefined ? {} : { 'x-required-right': right }
}

/** A mark on operations whose body may be absent, because the plugin documents every body as required. */
const optionalBody = 'x-optional-body'
const isOptional = ({ body, consumes }: FastifySchema) =>
  consumes === undefined && body instanceof z.ZodType && body.safeParse(undefined).success

interface JsonSchema {
  anyOf?: (JsonSchema & { type?: string; items?: object })[]
  examples?: unknown
}
interface Query {
  properties?: Record<string, JsonSchema>
  required?: string[]
}

function describeQuery({ properties = {}, required = [], ...query }: Query) {
  const described = Object.entries(properties).map(([name, schema]) => {
    // The reference page would fill in the example of an optional filter and send it.
    return [name, required.includes(name) ? asArray(schema) : withoutExamples(asArray(schema))]
  })
  return { ...query, required, properties: Object.fromEntries(described) as object }
}

function withoutExamples(given: JsonSchema): JsonSchema {
  const { examples: _, anyOf, ...schema } = given
  return anyOf ? { ...schema, anyOf: anyOf.map(withoutExamples) } : schema
}

/** A parameter that may be repeated is an array, also if it is sent once. */
function asArray({ anyOf = [], ...schema }: JsonSchema): JsonSchema {
  const array = anyOf.find(({ type }) => type === 'array')
  if (array) return { ...array, ...schema }
  return anyOf.length > 0 ? { anyOf, ...schema } : schema
}

/** Finishes the document: adds webhooks and headers, names shared responses and drops unused schemas. */
export function finishDocument(input: Parameters<typeof addSchemas>[0]) {
  const document = addSchemas(input)
  describeResponses(document as Document)
  ;(document as Document).webhooks = describeEventWebhooks()
  describeEventData(document as Document)
  dropUnusedSchemas(document as Document)
  const named = nameInputs(document as Document)
  simplifySchemas(named)
  describeBodies(named)
  return named as typeof document
}

const schemaReference = /"#\/components\/schemas\/([^"]+)"/g

/** The plugin adds each named schema twice, as input and as output, but each is used as one of them. */
function dropUnusedSchemas(document: Document) {
  const schemas = document.components?.schemas ?? {}
  for (let dropped = true; dropped; ) {
    const used = new Set([...JSON.stringify(document).matchAll(schemaReference)].map(([, name]) => name))
    const unused = Object.keys(schemas).filter((name) => !used.has(name))
    for (const name of unused) delete schemas[name]
    dropped = unused.length > 0
  }
}

/**
 * Removes the suffix that the plugin adds to the name of an input: `ContactCreateInput` becomes `ContactCreate`. A
 * schema that is the same as input and as output remains once.
 */
function nameInputs(document: Document): Document {
  const { schemas = {} } = document.components ?? {}
  const shapeOf = (name: string) =>
    JSON.stringify(schemas[name]).replace(schemaReference, (_, inner: string) => `"${inner.replace(/Input$/, '')}"`)
  const nameOf = (name: string) => {
    const ownName = name.replace(/Input$/, '')
    return Object.hasOwn(schemas, ownName) && shapeOf(name) !== shapeOf(ownName) ? name : ownName
  }
  const renamed = Object.entries(schemas).map(([name, schema]) => [nameOf(name), schema] as const)
  const text = JSON.stringify({
    ...document,
    components: { ...document.components, schemas: Object.fromEntries(renamed.toSorted(byName)) },
  })
  return JSON.parse(
    text.replace(schemaReference, (_, name: string) => `"#/components/schemas/${nameOf(name)}"`),
  ) as Document
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

/** Media types of files, which have no schema with an example. */
const fileExamples: Record<string, string> = {
  'text/csv': 'email,firstName\nada@example.com,Ada\n',
  'application/x-ndjson': '{"email":"ada@example.com","firstName":"Ada"}\n',
}

/** Adds the example of the schema to each body. A body that may be `null` may also be absent. */
function describeBodies(document: Document) {
  for (const operation of operationsOf(document)) {
    const { requestBody, [optionalBody]: isOptionalBody } = operation
    delete operation[optionalBody]
    if (!requestBody) continue
    if (isOptionalBody) requestBody.required = false
    for (const [mediaType, media] of Object.entries(requestBody.content)) {
      const { anyOf, type, ...schema } = media.schema
      const required = anyOf?.find((member) => member.type !== 'null')
      if (required || Array.isArray(type)) {
        requestBody.required = false
        media.schema = required ?? { ...schema, type: type?.[0] ?? 'object' }
      }
      const [example] = document.components?.schemas?.[media.schema.$ref?.split('/').at(-1) ?? '']?.examples ?? [
        fileExamples[mediaType],
      ]
      if (example !== undefined) media.example = example
    }
  }
}
