/** The parts of an OpenAPI document that the generator reads. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>
  /** The event types, as requests that Rapport sends. */
  webhooks: Record<string, { post: { requestBody: { content: Record<string, { schema: Schema }> } } }>
  components: { schemas: Record<string, Schema> }
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, unknown> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
  'x-required-role'?: string
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
}

export interface Schema {
  $ref?: string
  properties?: Record<string, unknown>
}
