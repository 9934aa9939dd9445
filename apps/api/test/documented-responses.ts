import type { FastifyInstance } from 'fastify'
import type { Document, DocumentedResponse } from '../src/openapi/document.ts'
import { headers as ownHeaders } from '../src/openapi/headers.ts'

interface Template {
  template: string
  /** The names of the headers of each response, by method and status. */
  operations: Record<string, Record<string, string[]>>
  pattern: RegExp
}

interface Response {
  status: number
  headers: Record<string, unknown>
}

/** By the routes of an app. Generating the document takes most of the time of a start. */
const templatesByRoutes = new Map<string, Template[]>()

/**
 * Returns a function that throws if an operation returned a status, or one of our headers, that the OpenAPI document does
 * not declare. Routes that are not in the document, such as unknown routes, may return any response.
 */
export function createResponseCheck(app: FastifyInstance) {
  const routes = app.printRoutes()
  const templates = templatesByRoutes.get(routes) ?? readTemplates(app)
  templatesByRoutes.set(routes, templates)

  return (method: string, url: string, { status, headers }: Response): void => {
    const [path = ''] = url.split('?', 1)
    const verb = method.toLowerCase()
    const isStatic = ({ template }: Template) => !template.includes('{')
    const found = templates.find((one) => one.pattern.test(path) && (isStatic(one) || one.operations[verb]))
    const operation = found?.operations[verb]
    if (!operation) return
    const documented = operation[status]
    const response = `${method} ${found?.template} returned ${status}`
    if (!documented) throw new Error(`${response}, which is not documented`)
    for (const name of Object.keys(ownHeaders))
      if (headers[name] !== undefined && !documented.includes(name))
        throw new Error(`${response} with ${name}, which is not documented`)
  }
}

function readTemplates(app: FastifyInstance): Template[] {
  const { paths = {}, components } = app.swagger() as unknown as Document
  const namesOf = (response: DocumentedResponse | { $ref: string }): string[] => {
    const found = '$ref' in response ? components?.responses?.[response.$ref.split('/').at(-1) ?? ''] : response
    return Object.keys(found?.headers ?? {})
  }
  return (
    Object.entries(paths)
      .map(([template, operations]) => ({
        template,
        operations: mapValues(operations, ({ responses = {} }) => mapValues(responses, namesOf)),
        pattern: patternOf(template),
      }))
      // Static paths come before parameters, as in the router.
      .toSorted((a, b) => countParameters(a.template) - countParameters(b.template))
  )
}

const mapValues = <Value, Result>(object: Record<string, Value>, map: (value: Value) => Result) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]))
const patternOf = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)
const countParameters = (template: string) => template.split('{').length
