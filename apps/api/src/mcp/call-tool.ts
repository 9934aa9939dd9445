import type { CallToolResult } from '@modelcontextprotocol/server'
import { requireRole } from '@rapport/core/auth/authenticate.ts'
import { requireRight } from '@rapport/core/auth/rights/rights.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { workspaceSuspended } from '@rapport/core/request/workspace-state.ts'
import type { FastifyRequest } from 'fastify'
import { toLoggedErrorBody } from '../http/error-handler.ts'
import { type Tool, ToolError } from './tool.ts'

/** Calls a tool. Every error becomes a result that the agent can read. */
export async function callTool(tool: Tool, request: FastifyRequest, args: unknown): Promise<CallToolResult> {
  // The log lines of this request name the tool.
  request.log = request.log.child({ tool: tool.name })
  try {
    for (const operation of tool.operations) requireRight(request.ctx.actor, operation)
    requireRole(request.ctx.actor, tool.role)
    if (request.ctx.isSuspended && !tool.annotations.readOnlyHint) throw workspaceSuspended()
    const result = await tool.run(request.ctx, args)
    return { content: [toText(result)], structuredContent: result }
  } catch (error) {
    const body = describeError(error, request)
    return { content: [toText(body)], structuredContent: body, isError: true }
  }
}

/** Text is JSON, so that the values of records are always quoted. */
const toText = (value: object) => ({ type: 'text' as const, text: JSON.stringify(value) })

/** The body that the API would return, without its HTTP status and `docUrl`. */
function describeError(error: unknown, request: FastifyRequest): Record<string, unknown> {
  if (error instanceof ToolError) return { ...describeError(error.cause, request), ...error.details }
  const { statusCode: _, error: __, code, ...body } = toLoggedErrorBody(error, request)
  if (!(error instanceof AppError)) return { code, ...body }
  const { retryAfterSeconds } = error
  return { code: error.code, ...body, ...(retryAfterSeconds && { retryAfterSeconds }) }
}
