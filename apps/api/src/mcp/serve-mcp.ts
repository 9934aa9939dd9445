import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import { createMcpServer } from './mcp-server.ts'

/** Headers of the protocol. The SDK gets no others, and no credential. */
const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Answers one message of the protocol, always as JSON, with a new server: no state is kept between requests. */
export async function serveMcp(request: FastifyRequest, parsedBody: unknown): Promise<Response> {
  const webRequest = toWebRequest(request)
  if (await isLegacyRequest(webRequest, parsedBody)) return serveLegacy(request, webRequest, parsedBody)
  let failure = new Error('The MCP handler failed')
  const handler = createMcpHandler(() => createMcpServer(request), {
    legacy: 'reject',
    onerror: (error) => (failure = error),
  })
  const response = await handler.fetch(webRequest, { parsedBody })
  if (response.status >= 500) throw failure
  return response
}

/** The protocols of 2025. The handler of the SDK would answer them with a stream of one event. */
async function serveLegacy(request: FastifyRequest, webRequest: Request, parsedBody: unknown): Promise<Response> {
  const server = createMcpServer(request)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(webRequest, { parsedBody })
  } finally {
    await server.close()
  }
}

/** The body was already read and parsed, so that it is limited and validated like that of any other request. */
function toWebRequest({ headers }: FastifyRequest): Request {
  const passed = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' })
  for (const name of protocolHeaders) {
    const value = headers[name]
    if (typeof value === 'string') passed.set(name, value)
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers: passed })
}
