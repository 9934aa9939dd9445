import { invalidField } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Rejects a query that is not percent-encoded UTF-8, such as `tag=caf%E9`. Fastify would take it literally, and a program
 * that gets an empty page creates a duplicate. For the routes of programs: other programs add parameters to links.
 */
export const queryEncoding = fp(
  async (scope: FastifyInstance) => {
    scope.addHook('preValidation', async ({ url }) => {
      const start = url.indexOf('?')
      if (start < 0 || isDecodable(url.slice(start))) return
      throw invalidField('', 'The query must be percent-encoded UTF-8: a percent sign is %25')
    })
  },
  { name: 'query-encoding' },
)

function isDecodable(query: string): boolean {
  if (!query.includes('%')) return true
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}
