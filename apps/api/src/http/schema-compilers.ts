import { AppError, invalidField, invalidFields } from '@rapport/core/kernel/errors.ts'
import { describeQueryIssue, toIssues } from '@rapport/core/kernel/zod-messages.ts'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type { z } from 'zod'

/** Validates requests and serializes responses with the Zod schemas of the routes. */
export const schemaCompilers = fp(
  async (app: FastifyInstance) => {
    app.setValidatorCompiler(compileValidator)
    app.setSerializerCompiler(serializerCompiler)
  },
  { name: 'schema-compilers' },
)

const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const options = httpPart === 'querystring' ? { error: describeQueryIssue } : {}
  return (data) => {
    const { success, data: value, error } = schema.safeParse(data, options)
    return success ? { value } : { error: toError(error, httpPart) }
  }
}

function toError(error: z.ZodError, httpPart: string | undefined): AppError {
  const issues = toIssues(error)
  const [first] = issues
  // A malformed id in the path gets the same response as an unknown id.
  if (httpPart === 'params') return new AppError('not_found', first?.message ?? 'Not found')
  return first?.path ? invalidFields(issues) : invalidField('', 'The body must be a JSON object')
}
