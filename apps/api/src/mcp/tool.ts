/** How a tool is declared. Tools call the verbs of core: they know neither SQL nor HTTP. */
import type { Tool as ToolDefinition } from '@modelcontextprotocol/server'
import type { OperationId } from '@rapport/core/auth/rights/operations.ts'
import type { Role } from '@rapport/core/db/schema/index.ts'
import { type AppError, invalidFields } from '@rapport/core/kernel/errors.ts'
import { completeJsonSchema, simplifySchemas } from '@rapport/core/kernel/json-schema.ts'
import { parseLenient } from '@rapport/core/request/parse-lenient.ts'
import { toIssues } from '@rapport/core/kernel/zod-messages.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { Cursor } from '@rapport/core/request/paging.ts'
import { z } from 'zod'

/** What a client may assume about a tool. All of them are required, because their defaults assume the worst. */
export interface Annotations {
  /** The tool changes nothing. */
  readOnlyHint: boolean
  /** The tool may overwrite or remove data, or do what cannot be undone. */
  destructiveHint: boolean
  /** A repeated call with the same arguments changes nothing and emits no event. */
  idempotentHint: boolean
  /** The tool reaches people or systems outside of the workspace: it sends email or reads DNS. */
  openWorldHint: boolean
}

export interface Tool {
  name: string
  /** The lowest role that may list and call the tool. */
  role: Role
  /** What the tool does, as rights of API keys name it: a key with rights needs all of them. */
  operations: readonly OperationId[]
  annotations: Annotations
  /** The tool as `tools/list` shows it: without the schema of its results, as an agent pays for every byte of the list. */
  definition: ToolDefinition
  output: z.ZodObject
  /** Validates the arguments and calls the tool. The result has only what `output` declares. */
  run: (ctx: Ctx, args: unknown) => Promise<object>
}

interface Declaration<Input extends z.ZodType, Output extends z.ZodObject> {
  name: string
  title: string
  description: string
  operations: readonly OperationId[]
  role: Role
  annotations: Annotations
  input: Input
  output: Output
  run: (ctx: Ctx, input: z.output<Input>) => Promise<z.output<Output>>
}

/** For tools that only read. */
export const reads: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

export function defineTool<Input extends z.ZodType, Output extends z.ZodObject>(
  declaration: Declaration<Input, Output>,
): Tool {
  const { name, title, description, operations, role, annotations, input, output } = declaration
  return {
    name,
    operations,
    role,
    annotations,
    definition: { name, title, description, inputSchema: toJsonSchema(input), annotations },
    output,
    run: async (ctx, args) => output.parse(await declaration.run(ctx, parseInput(input, args))),
  }
}

/** Parses the input of a tool. Throws `validation_error` with an issue for each invalid argument. */
export function parseInput<Input extends z.ZodType>(schema: Input, input: unknown): z.output<Input> {
  const { success, data, error } = parseLenient(schema, input)
  if (!success) throw invalidFields(toIssues(error))
  return data
}

/** Without `$schema`: the validators of some clients know only an earlier version, and reject every other. */
function toJsonSchema(schema: z.ZodType): ToolDefinition['inputSchema'] {
  const options = { io: 'input', unrepresentable: 'any', override: completeJsonSchema } as const
  const { $schema: _, ...json } = z.toJSONSchema(schema, options)
  simplifySchemas(json)
  return json as ToolDefinition['inputSchema']
}

/** The arguments of a tool that returns a page. */
export const pageInput = {
  // Models write numbers as texts.
  limit: z
    .preprocess((limit) => (/^\d{1,3}$/.test(String(limit)) ? Number(limit) : limit), z.int().min(1).max(100))
    .default(20)
    .describe('At most this many records.'),
  cursor: Cursor.describe('The `nextCursor` of a page with these filters.'),
}

/** The order of every listing, so that a tool needs no argument for it. */
export const newestFirst = { sort: '-createdAt' } as const

/** An error with more for the agent than the API would return. */
export class ToolError extends Error {
  override readonly cause: AppError
  readonly details: Record<string, unknown>

  constructor(cause: AppError, details: Record<string, unknown>) {
    super(cause.message)
    this.cause = cause
    this.details = details
  }
}
