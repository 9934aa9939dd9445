import type { FastifyInstance } from 'fastify'

interface Document {
  paths?: Record<string, Record<string, { responses: Record<string, unknown> }>>
}

/**
 * For whoever calls the API in a test: throws when an operation is answered in a way that the API's own description
 * does not name. What is described nowhere, an unknown route for one, may answer as it likes.
 */
export function createStatusCheck(app: FastifyInstance) {
  const { paths = {} } = app.swagger() as unknown as Document
  const templates = Object.entries(paths)
    .map(([template, operations]) => ({ template, operations, pattern: patternOf(template) }))
    // What is written out comes before what stands for anything, as with the router.
    .toSorted((a, b) => countParameters(a.template) - countParameters(b.template))

  return (method: string, url: string, status: number): void => {
    const [path = ''] = url.split('?', 1)
    const found = templates.find(({ pattern, operations }) => pattern.test(path) && operations[method.toLowerCase()])
    const operation = found?.operations[method.toLowerCase()]
    if (!operation || Object.hasOwn(operation.responses, String(status))) return
    throw new Error(`${method} ${found?.template} answered ${status}, which its description does not name`)
  }
}

const patternOf = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)
const countParameters = (template: string) => template.split('{').length
