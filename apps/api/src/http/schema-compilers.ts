import { AppError, invalidField, invalidFields, type Issue } from '@rapport/core/kernel/errors.ts'
import { parseLenient } from '@rapport/core/request/parse-lenient.ts'
import { describeQueryIssue, toIssues } from '@rapport/core/kernel/zod-messages.ts'
import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { serializerCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it was sent, without the defaults of its schema, which another release may change. */
    sentBody: unknown
  }
}

/** Rejects every parameter: the default of documented routes. */
const noQuery = z.strictObject({})

/** Validates requests and serializes responses with the Zod schemas of the routes. */
export const schemaCompilers = fp(
  async (app: FastifyInstance) => {
    /** The fields of the record that a body creates or changes, by the schema of the body. */
    const recordFields = new WeakMap<object, string[]>()
    app.addHook('onRoute', ({ schema }) => {
      if (schema && !schema.hide) schema.querystring ??= noQuery
      if (schema?.body) recordFields.set(schema.body, fieldsOfRecord(schema))
    })
    app.decorateRequest('sentBody')
    app.addHook('preValidation', (request, _reply, done) => {
      request.sentBody = request.body
      done()
    })
    app.setValidatorCompiler(compileValidator(recordFields))
    app.setSerializerCompiler(serializerCompiler)
  },
  { name: 'schema-compilers' },
)

/** The fields of the response, if it is a record. */
function fieldsOfRecord({ response = {} }: FastifySchema): string[] {
  const { 200: ok, 201: created = ok } = response as Record<number, unknown>
  return created instanceof z.ZodObject && 'id' in created.shape ? Object.keys(created.shape) : []
}

function compileValidator(recordFields: WeakMap<object, string[]>): FastifySchemaCompiler<z.ZodType> {
  return ({ schema, httpPart, method }) => {
    const options = httpPart === 'querystring' ? { error: describeQueryIssue } : {}
    const isPost = httpPart === 'body' && method.toUpperCase() === 'POST'
    return (data) => {
      const { success, data: value, error } = isPost ? parseLenient(schema, data) : schema.safeParse(data, options)
      return success ? { value } : { error: toError(toIssues(error, recordFields.get(schema)), httpPart) }
    }
  }
}

function toError(issues: Issue[], httpPart: string | undefined): AppError {
  const [first] = issues
  // A malformed id in the path gets the same response as an unknown id.
  if (httpPart === 'params' && /(id|token)$/i.test(first?.path ?? ''))
    return new AppError('not_found', first?.message ?? 'Not found')
  return first?.path ? invalidFields(issues) : invalidField('', 'The body must be a JSON object')
}
