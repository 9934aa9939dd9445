/** The messages of the protocol, as far as the API documents and validates them. The SDK validates the rest. */
import { findRepeatedKey } from '@rapport/core/kernel/repeated-key.ts'
import { z } from 'zod'
import { ErrorBody } from '../http/error-handler.ts'

/**
 * Some clients send `null` or an empty text for no arguments, and others send them as a text, as models write them. The SDK takes
 * only an object.
 */
function readArguments(params: Record<string, unknown>): Record<string, unknown> {
  const { arguments: given, ...others } = params
  if (given === null || given === '') return others
  const parsed = typeof given === 'string' && given.startsWith('{') ? parseObject(given) : undefined
  return parsed === undefined ? params : { ...params, arguments: parsed }
}

function parseObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return findRepeatedKey(text, value) === undefined ? value : undefined
  } catch {
    return undefined
  }
}

export const McpRequest = z
  .strictObject({
    jsonrpc: z.literal('2.0').describe('Always `2.0`.'),
    id: z
      .union([z.string().max(200), z.int()])
      .optional()
      .describe('The id of the request, which the response repeats. A notification has none.'),
    method: z.string().max(100).describe('The method, such as `tools/list` or `tools/call`.'),
    params: z
      .record(z.string(), z.unknown())
      .transform(readArguments)
      .optional()
      .describe('The parameters of the method.'),
  })
  .meta({
    id: 'McpRequest',
    description: 'One JSON-RPC request or notification of the Model Context Protocol. Batches are not supported.',
    examples: [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'search_contacts', arguments: { search: 'Ada' } },
      },
    ],
  })

export const McpResponse = z
  .object({
    jsonrpc: z.literal('2.0').describe('Always `2.0`.'),
    id: z
      .union([z.string(), z.number()])
      .nullish()
      .describe('The id of the request. `null` if the request has no valid id.'),
    result: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('The result of the method. A failed tool call is a result with `isError: true`.'),
    error: z
      .object({
        code: z.number().int().describe('The code of JSON-RPC or of the protocol.'),
        message: z.string().describe('What is wrong with the request.'),
        data: z.unknown().optional().describe('More about the error.'),
      })
      .optional()
      .describe('Why the request could not be handled.'),
  })
  .meta({
    id: 'McpResponse',
    description: 'A JSON-RPC response of the Model Context Protocol.',
    examples: [
      { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: '{"data":[],"nextCursor":null}' }] } },
    ],
  })

export const McpError = z.union([ErrorBody, McpResponse]).meta({
  id: 'McpError',
  description: 'An error of the API, or a JSON-RPC response with an error of the protocol.',
})
