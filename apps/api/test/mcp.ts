/** Calls the tools of `POST /mcp`, for tests. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { freshAddress, type Json, type TestApi } from './testing.ts'

/** The two generations of the protocol: with `initialize`, and with the version in every request. */
export const eras = ['2025-11-25', '2026-07-28'] as const
export type Era = (typeof eras)[number]

/** Connects the official client by a real socket. Each request comes from a new address. */
export async function connectAgent(url: string, options: { key: string; era?: Era }): Promise<Client> {
  const mode = options.era === '2025-11-25' ? 'legacy' : { pin: '2026-07-28' }
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set('authorization', `Bearer ${options.key}`)
      headers.set('x-forwarded-for', freshAddress())
      return fetch(input, { ...init, headers })
    },
  })
  await client.connect(transport)
  return client
}

export interface ToolResult<Value = Json> {
  isError: boolean
  /** The JSON of the text part. */
  value: Value
}

/** Sends one JSON-RPC request of the protocols of 2025. */
export function callMethod(api: TestApi, key: string, request: { method: string; params?: object }) {
  return api.call<Json & { result?: Json; error?: { code: number; message: string } }>('POST', '/mcp', {
    key,
    body: { jsonrpc: '2.0', id: 1, ...request },
  })
}

/** Calls a tool without a socket. Throws if the response is no result of a tool. */
export async function callTool<Value = Json>(
  api: TestApi,
  key: string,
  tool: { name: string; args?: object },
): Promise<ToolResult<Value>> {
  const params = { name: tool.name, arguments: tool.args ?? {} }
  const response = await callMethod(api, key, { method: 'tools/call', params })
  const { content, isError = false } = (response.body.result ?? {}) as {
    content?: [{ text: string }]
    isError?: boolean
  }
  if (response.status !== 200 || !content) throw new Error(`${tool.name} returned ${response.status}: ${response.text}`)
  return { isError, value: JSON.parse(content[0].text) as Value }
}
