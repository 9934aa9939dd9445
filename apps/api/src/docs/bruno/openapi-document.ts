/** The parts of the OpenAPI document that the collection shows. Tests require each of them of every operation. */
export interface OpenApiDocument {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  tags: [string]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  security?: Record<string, unknown>[]
  'x-required-role'?: string
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  description: string
  example?: string
  schema: { default?: string | number | boolean; enum?: string[]; items?: { enum?: string[] } }
}
