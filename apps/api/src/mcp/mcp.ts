import { AppError, invalidField } from '@rapport/core/kernel/errors.ts'
import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { Empty } from '../routes/shapes.ts'
import { largeBodyLimit } from '../routes/shapes.ts'
import { McpError, McpRequest, McpResponse } from './mcp-message.schema.ts'

const errorResponse = (description: string) => ({
  description,
  content: { 'application/json': { schema: McpError } },
})

/** Not as if left out, as `null` is elsewhere: without its id, a call would be a notification, which is not answered. */
async function refuseNullId({ body }: FastifyRequest) {
  if (typeof body === 'object' && body !== null && 'id' in body && body.id === null)
    throw invalidField('id', 'id: must be a string or an integer')
}

const mcpDescription =
  'The endpoint for clients of the [Model Context Protocol](https://modelcontextprotocol.io), version 2026-07-28 ' +
  'and those of 2025: Streamable HTTP without sessions. `tools/list` returns the tools that the role and the rights ' +
  'of the credential allow. Returns 202 for a notification, 404 for an unknown method, and 403 for the `Origin` of ' +
  'another website. A failed tool call returns 200 with `isError: true` in its result.'

/** The Model Context Protocol for agents, over Streamable HTTP without sessions. */
export function mcpRoutes(config: Pick<ApiConfig, 'PUBLIC_URL' | 'CORS_ORIGINS'>): FastifyPluginAsync {
  const allowedOrigins = new Set([new URL(config.PUBLIC_URL).origin, ...config.CORS_ORIGINS])

  /** Browsers send `Origin`. The protocol requires this check, against DNS rebinding. */
  async function checkOrigin({ headers: { origin } }: FastifyRequest) {
    if (origin !== undefined && !allowedOrigins.has(origin))
      throw new AppError('forbidden', 'Origin: is not in CORS_ORIGINS')
  }

  return async (app) => {
    app.addHook('onRequest', checkOrigin)

    app.post(
      '/mcp',
      {
        // Each tool checks its own role, and whether the workspace is suspended. Without `idempotent(…)`: clients may
        // send the same headers with every message. Which tool is called, and so whether it reads all contacts, is not
        // known before the body is read.
        config: { role: 'VIEWER', errorStatuses: [403], worksWhenSuspended: true, isExpensive: true },
        bodyLimit: largeBodyLimit,
        preValidation: refuseNullId,
        schema: {
          tags: ['Agents'],
          security: [{ bearer: [] }],
          operationId: 'mcp.call',
          summary: 'Call a tool as an agent',
          description: mcpDescription,
          body: McpRequest,
          response: {
            200: McpResponse,
            202: Empty,
            400: errorResponse('The body is not a valid message of the protocol.'),
            404: errorResponse('The method does not exist.'),
          },
        },
      },
      async (request, reply) => {
        // Loaded with the first message, as the tools and the SDK of the protocol are a large part of a start.
        const { serveMcp } = await import('./serve-mcp.ts')
        const response = await serveMcp(request, request.body)
        reply.code(response.status as 200)
        if (response.body === null) return reply.send()
        return reply.type(response.headers.get('content-type') ?? '').send(await response.text())
      },
    )

    // Clients of the 2025 protocols open a stream by GET and end a session by DELETE, and expect 405 if there is
    // neither.
    app.route({
      method: ['GET', 'DELETE'],
      url: '/mcp',
      config: { role: 'VIEWER' },
      schema: { hide: true, operationId: 'mcp.call' },
      handler: (_request, reply: FastifyReply) => reply.header('allow', 'POST').methodNotAllowed('Use POST'),
    })
  }
}
