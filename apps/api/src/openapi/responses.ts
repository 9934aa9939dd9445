/** The responses of the OpenAPI document: descriptions, headers and shared error responses. */
import { STATUS_CODES } from 'node:http'
import { type Document, type DocumentedOperation, type DocumentedResponse, operationsOf } from './document.ts'
import { headers } from './headers.ts'

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
  415: 'The content type, charset or content encoding of the body is not supported. The message names it.',
  422: 'The `Idempotency-Key` was used for another request.',
  429: 'The client has sent too many requests to this endpoint.',
  500: 'Internal error. The log has the details under the `requestId` of the response.',
  503: 'Temporarily unavailable. Try again.',
}

/** Headers of an error status, besides those of every response. */
const errorHeaders: Record<string, (keyof typeof headers)[]> = {
  401: ['www-authenticate'],
  409: ['retry-after'],
  415: ['accept-encoding'],
  429: ['retry-after'],
  503: ['retry-after'],
}

/** Errors that are stored for an `Idempotency-Key`. */
const storedErrors = ['400', '403', '404', '409']

/** Headers of the successful responses of one operation, if they do not follow from its schemas. */
const ownHeaders: Record<string, (keyof typeof headers)[]> = {
  'auth.signUp': ['location'],
  'campaigns.update': ['etag'],
  'companies.upsert': ['matched-by'],
  'contacts.upsert': ['matched-by'],
  'emails.create': ['location'],
  'imports.create': ['location'],
  'pages.getEmbedScript': ['etag'],
  'suppressions.create': ['location'],
  'suppressions.import': ['location'],
  'webhooks.create': ['etag'],
  'webhooks.rotateSecret': ['etag'],
}

const errorReference = '#/components/schemas/Error'
const errorContent = { 'application/json': { schema: { $ref: errorReference } } }

/** Describes each response by its status and its headers, and moves shared error responses to the components. */
export function describeResponses(document: Document): void {
  const shared: Record<string, DocumentedResponse> = {}
  const operations = operationsOf(document)
  const tagged = new Set(operations.flatMap(taggedSchemas))
  for (const operation of operations) describeOperation(operation)
  document.components = { ...document.components, responses: shared, headers }

  function describeOperation({
    operationId = '',
    responses = {},
    parameters = [],
    security = [],
  }: DocumentedOperation) {
    const limits = responses['429'] ? limitHeaders : []
    const takesKey = security.length > 0 && parameters.some(({ name }) => name === 'Idempotency-Key')
    const replays = takesKey ? ['idempotent-replayed' as const] : []
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response) continue
      const [reason, name = 'Response'] = [errorDescriptions[status], STATUS_CODES[status]]
      if (response.description === 'Default Response') response.description = reason ?? name
      const content = Object.values(response.content ?? {})
      if (!reason || content.some(({ schema }) => schema.$ref !== errorReference)) {
        response.headers = refer([
          // A visitor cannot retrieve what they create.
          ...((status === '201' && security.length > 0) || isRedirect(status) ? (['location'] as const) : []),
          ...(status === '304' || content.some(({ schema: { $ref = '' } }) => tagged.has($ref))
            ? (['etag'] as const)
            : []),
          ...(isSuccess(status) ? replays : []),
          ...(isSuccess(status) ? (ownHeaders[operationId] ?? []) : (errorHeaders[status] ?? [])),
          'x-request-id',
          ...limits,
        ])
        continue
      }
      const key = name.replaceAll(' ', '')
      const stored = storedErrors.includes(status) ? (['idempotent-replayed'] as const) : []
      const names = [...stored, ...(errorHeaders[status] ?? []), 'x-request-id' as const, ...limitHeaders]
      shared[key] = { description: reason, headers: refer(names), content: errorContent }
      responses[status] = { $ref: `#/components/responses/${key}` }
    }
  }
}

/** The record that an operation with `ETag` retrieves. Every other response with this schema has an `ETag` too. */
function taggedSchemas({ responses = {} }: DocumentedOperation): string[] {
  const retrieved = responses['200']
  if (!responses['304'] || !retrieved || '$ref' in retrieved) return []
  return Object.values(retrieved.content ?? {}).flatMap(({ schema }) => schema.$ref ?? [])
}

const limitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const

const isSuccess = (status: string) => status.startsWith('2')
const isRedirect = (status: string) => status === '302' || status === '303'

function refer(names: readonly (keyof typeof headers)[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
