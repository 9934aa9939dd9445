/** One request of the collection. */
import type { HttpRequest, HttpRequestHeader, HttpRequestParam, RawBody } from '@opencollection/types/requests/http'
import type { Operation, Parameter } from './openapi-document.ts'

export interface Entry {
  path: string
  method: string
  operation: Operation
}

/** `variables` are those that path parameters use. */
export function toRequest(
  { path, method, operation }: Entry,
  { seq, variables }: { seq: number; variables: ReadonlySet<string> },
): HttpRequest {
  const { operationId, summary, security = [] } = operation
  const parametersIn = (place: Parameter['in']) => (operation.parameters ?? []).filter((one) => one.in === place)
  const [contentType, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const body = media?.example === undefined ? undefined : toBody(media.example, path)
  const params = [
    ...parametersIn('query').map(toQueryParameter),
    ...parametersIn('path').map((parameter) => toPathParameter(parameter, path)),
  ]
  const headers = [
    ...(body?.type === 'text' ? [{ name: 'Content-Type', value: contentType ?? '' }] : []),
    ...parametersIn('header').map(toHeader),
  ]
  const [resource = '', verb = ''] = operationId.split('.')
  const returnedId = `${singular(resource)}Id`
  const isStored = /^(create|upsert)$/.test(verb) && variables.has(returnedId)
  return {
    info: { name: summary, type: 'http', seq },
    http: {
      method: method.toUpperCase(),
      url: `{{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      ...(params.length > 0 && { params }),
      ...(headers.length > 0 && { headers }),
      ...(body && { body }),
      ...(security.some((scheme) => 'bearer' in scheme) && { auth: 'inherit' as const }),
    },
    ...(isStored && { runtime: { actions: [storeId(returnedId)] } }),
    docs: toDocs(operation),
  }
}

/**
 * The variable with the id that a path parameter takes: `contactId` for `/contacts/{id}`. Undefined if it takes none.
 */
export function idVariable(path: string, name: string): string | undefined {
  if (name !== 'id') return name.endsWith('Id') ? name : undefined
  const resource = /([\w-]+)\/\{id\}/.exec(path)?.[1]
  return resource && `${singular(resource.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()))}Id`
}

const singular = (resource: string) => resource.replace(/s$/, '')

const toPathParameter = ({ name, example = '', description }: Parameter, path: string): HttpRequestParam => {
  const variable = idVariable(path, name)
  return { name, value: variable === undefined ? example : `{{${variable}}}`, type: 'path', description }
}

/** Every query parameter is optional. The value shows the form of one that a reader enables. */
const toQueryParameter = ({ name, schema, description }: Parameter): HttpRequestParam => ({
  name,
  value: String(schema.default ?? schema.enum?.[0] ?? schema.items?.enum?.[0] ?? ''),
  type: 'query',
  description,
  disabled: true,
})

const toHeader = ({ name, description }: Parameter): HttpRequestHeader => ({
  name,
  value: '',
  description,
  disabled: true,
})

/**
 * The example of the document. A variable replaces the id of another record, but not that of a second record of the
 * same type, such as the duplicate of a merge.
 */
function toBody(example: unknown, path: string): RawBody {
  if (typeof example === 'string') return { type: 'text', data: example }
  const data = JSON.stringify(example, null, 2)
  return {
    type: 'json',
    data: data.replaceAll(/"(\w+Id)": "[a-z]{3}_[0-9a-z]{26}"/g, (text, name: string) =>
      idVariable(path, 'id') === name ? text : `"${name}": "{{${name}}}"`,
    ),
  }
}

const storeId = (name: string) => ({
  type: 'set-variable' as const,
  phase: 'after-response' as const,
  selector: { expression: 'res.body.id', method: 'jsonq' as const },
  variable: { name, scope: 'runtime' as const },
})

const toDocs = ({ description, 'x-required-role': role }: Operation) =>
  role === undefined ? description : `${description}\n\nRequired role: \`${role}\`.`
