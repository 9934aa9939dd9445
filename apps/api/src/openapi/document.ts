/** The parts of an OpenAPI document that this folder completes. */
export interface Document {
  webhooks?: Record<string, unknown>
  paths?: Record<string, Record<string, DocumentedOperation>>
  components?: {
    schemas?: Record<string, { examples?: unknown[]; properties?: Record<string, object> }>
    responses?: Record<string, DocumentedResponse>
    headers?: Record<string, object>
  }
}

export interface DocumentedOperation {
  operationId?: string
  parameters?: { name: string }[]
  security?: object[]
  'x-optional-body'?: boolean
  requestBody?: { required: boolean; content: Record<string, { schema: BodySchema; example?: unknown }> }
  responses?: Record<string, DocumentedResponse | { $ref: string }>
}

interface BodySchema {
  $ref?: string
  type?: string | string[]
  anyOf?: BodySchema[]
}

export interface DocumentedResponse {
  description: string
  headers?: Record<string, object>
  content?: Record<string, { schema: { $ref?: string } }>
}

export const operationsOf = ({ paths = {} }: Document) => Object.values(paths).flatMap((path) => Object.values(path))
