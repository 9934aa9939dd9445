import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { NoQuery } from '../routes/shapes.ts'

/** Validates and serializes by the Zod schemas of the routes. */
export const schemaCompilers = fp(
  async (app: FastifyInstance) => {
    app.setValidatorCompiler(compileValidator)
    app.setSerializerCompiler(serializerCompiler)
  },
  { name: 'schema-compilers' },
)

/** Skips Zod for an empty query where none is allowed: that is most requests. */
const compileValidator: typeof validatorCompiler = (route) => {
  const validate = validatorCompiler(route)
  if (route.schema !== NoQuery) return validate
  return (query: object) => (Object.keys(query).length === 0 ? { value: query } : validate(query))
}
