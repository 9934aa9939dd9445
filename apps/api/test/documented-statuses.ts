import type { FastifyInstance } from 'fastify'

interface Document {
  paths?: Record<string, Record<string, { responses: Record<string, unknown> }>>
}

interface Template {
  template: string
  operations: Record<string, { responses: Record<string, unknown> }>
  pattern: RegExp
}

/** By the routes of an app. Generating the document takes most of the time of a start. */
const templatesByRoutes = new Map<string, Template[]>()

/**
 * Returns a function that throws if an operation returned a status that the OpenAPI document does not declare. Routes
 * that are not in the document, such as unknown routes, may return any status.
 */
export function createStatusCheck(app: FastifyInstance) {
  const routes = app.printRoutes()
  const templates = templatesByRoutes.get(routes) ?? readTemplates(app)
  templatesByRoutes.set(routes, templates)

  return (method: string, url: string, status: number): void => {
    const [path = ''] = url.split('?', 1)
    const verb = method.toLowerCase()
    const isStatic = ({ template }: Template) => !template.includes('{')
    const found = templates.find((one) => one.pattern.test(path) && (isStatic(one) || one.operations[verb]))
    const operation = found?.operations[verb]
    if (!operation || Object.hasOwn(operation.responses, String(status))) return
    throw new Error(`${method} ${found?.template} returned ${status}, which is not documented`)
  }
}

function readTemplates(app: FastifyInstance): Template[] {
  const { paths = {} } = app.swagger() as unknown as Document
  return (
    Object.entries(paths)
      .map(([template, operations]) => ({ template, operations, pattern: patternOf(template) }))
      // Static paths come before parameters, as in the router.
      .toSorted((a, b) => countParameters(a.template) - countParameters(b.template))
  )
}

const patternOf = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)
const countParameters = (template: string) => template.split('{').length
