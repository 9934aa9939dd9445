/**
 * Writes one class per resource with one method per operation: `contacts.create` becomes `rapport.contacts.create()`.
 *
 * The generator of hey-api wraps parameters in `{ path, query, body }`, or flattens them and drops the description of
 * each field. It has no pages either. So only the types are its own, and each method here is one call of the client.
 */
import type { OpenApiDocument, Operation, Schema } from './openapi-document.ts'

interface Endpoint {
  operation: Operation
  method: string
  path: string
}

export function writeOperations(document: OpenApiDocument): string {
  const resources = groupByResource(document)
  const events = Object.keys(document.webhooks).map((type) => `types.Event${pascalCase(type)}WebhookPayload`)
  const text = [
    '// Generated from the OpenAPI document of the API. Do not edit: see README.md.',
    "import { type Client, encodePath } from '../client.ts'",
    "import type { RequestOptions } from '../options.ts'",
    "import type { ApiPromise, PagePromise } from '../promises.ts'",
    "import type * as types from './types.gen.ts'",
    "import type { Upload } from '../upload.ts'",
    `/** An event, as webhooks deliver it. Switch on \`type\` to narrow \`data\`. */\nexport type WebhookEvent =\n${events.map((name) => `  | ${name}`).join('\n')}`,
    'class Resource {\n  protected readonly client: Client\n  constructor(client: Client) {\n    this.client = client\n  }\n}',
    ...Object.entries(resources).map(([name, endpoints]) => writeClass(document, name, endpoints)),
    writeRoot(Object.keys(resources)),
  ].join('\n\n')
  return `${text}\n`
}

/**
 * The pages are for people, `POST /mcp` is for clients of that protocol, and the rest are files of the documentation.
 */
const excluded = ['pages', 'mcp', 'openApi', 'docs']

/** The operations by resource. */
function groupByResource({ paths }: OpenApiDocument): Record<string, Endpoint[]> {
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ operation, method: method.toUpperCase(), path })),
  )
  const isIncluded = ({ operation }: Endpoint) =>
    !excluded.includes(resourceOf(operation)) && contentOf(operation).every((content) => !('text/html' in content))
  const resources = Object.groupBy(endpoints.filter(isIncluded), ({ operation }) => resourceOf(operation))
  return resources as Record<string, Endpoint[]>
}

const resourceOf = ({ operationId }: Operation) => operationId.split('.')[0] ?? ''

const contentOf = ({ responses }: Operation) =>
  Object.entries(responses).flatMap(([status, { content = {} }]) => (status.startsWith('2') ? [content] : []))

function writeClass(document: OpenApiDocument, resource: string, endpoints: Endpoint[]): string {
  const methods = endpoints.map((endpoint) => writeMethod(document, endpoint))
  return `export class ${pascalCase(resource)} extends Resource {\n${methods.join('\n\n')}\n}`
}

function writeMethod(document: OpenApiDocument, { operation, method, path }: Endpoint): string {
  const { operationId, parameters = [], requestBody, responses } = operation
  const type = `types.${pascalCase(operationId)}`
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const isUpload = requestBody !== undefined && 'text/csv' in requestBody.content
  const pathNames = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
  const contents = contentOf(operation)
  const isFile = contents.some((content) => 'text/csv' in content)
  const isPage = !isFile && contents.some((content) => isPageSchema(document, content['application/json']?.schema))
  const isEmpty = contents.every((content) => Object.keys(content).length === 0)

  const signature = [
    ...pathNames.map((name) => `${name}: string`),
    ...(isUpload
      ? ['upload: Upload']
      : requestBody
        ? [`body${requestBody.required ? '' : '?'}: ${type}Data['body']`]
        : []),
    ...(query.length > 0
      ? [`query${query.some(({ required }) => required) ? '' : '?'}: ${queryType(operationId, type)}`]
      : []),
    'options?: RequestOptions',
  ]
  const request = [
    method !== 'GET' && `method: '${method}'`,
    `path: ${pathNames.length > 0 ? `encodePath\`${path.replaceAll('{', '${')}\`` : `'${path}'`}`,
    query.length > 0 && 'query',
    isUpload ? 'upload' : requestBody && 'body',
    parameters.some(({ name }) => name === 'Idempotency-Key') && 'isIdempotent: true',
  ].filter((part) => part !== false && part !== undefined)
  const [send, result] = isPage
    ? ['requestPage', `PagePromise<${type}Response>`]
    : isFile
      ? ['requestFile', 'ApiPromise<ReadableStream<Uint8Array<ArrayBuffer>>>']
      : [
          'request',
          `ApiPromise<${isEmpty || !('200' in responses || '201' in responses || '202' in responses) ? 'void' : `${type}Response`}>`,
        ]
  return [
    writeComment(operation),
    `  ${operationId.split('.')[1]}(${signature.join(', ')}): ${result} {`,
    `    return this.client.${send}({ ${request.join(', ')} }, options)`,
    '  }',
  ].join('\n')
}

/** The custom fields are not known in advance, so OpenAPI only describes the filters. */
function queryType(operationId: string, type: string): string {
  const hasCustomFields = ['contacts.list', 'contacts.export', 'deals.list'].includes(operationId)
  return `${type}Data['query']${hasCustomFields ? ' & { [filter: `customField.${string}`]: string }' : ''}`
}

function writeComment({ summary, description, 'x-required-role': role }: Operation): string {
  const paragraphs = [`${summary}.`, description, role && `Requires the role ${role}.`].filter(Boolean)
  const lines = paragraphs
    .join('\n\n')
    .split('\n')
    .map((line) => `   * ${line}`.trimEnd())
  return `  /**\n${lines.join('\n')}\n   */`
}

function writeRoot(resources: string[]): string {
  const fields = resources.map((name) => `  readonly ${name}: ${pascalCase(name)}`)
  const created = resources.map((name) => `    this.${name} = new ${pascalCase(name)}(client)`)
  return [
    '/** One field per resource. */',
    'export class Resources {',
    ...fields,
    '  constructor(client: Client) {',
    ...created,
    '  }',
    '}',
  ].join('\n')
}

function isPageSchema({ components }: OpenApiDocument, schema: Schema | undefined): boolean {
  const resolved = schema?.$ref ? components.schemas[schema.$ref.replace('#/components/schemas/', '')] : schema
  return resolved?.properties !== undefined && 'nextCursor' in resolved.properties
}

const pascalCase = (name: string) => name.replace(/(?:^|[._])(\w)/g, (_match, letter: string) => letter.toUpperCase())
