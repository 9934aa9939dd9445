import swagger from '@fastify/swagger'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { ErrorBody } from './error-handler.ts'

/** Describes every route registered after it: OpenAPI 3.1 at `/openapi.json`, a page to read it at `/docs`. */
export async function describeRoutes(app: FastifyInstance, publicUrl: string): Promise<void> {
  app.addHook('onRoute', ({ schema }) => {
    if (!schema || schema.hide) return
    schema.response = { ...(schema.response as object), '4xx': ErrorBody }
  })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Rapport',
        version: '1.0.0',
        description: 'A headless CRM: contacts, lists, newsletters, pipelines and webhooks behind one HTTP API.',
      },
      servers: [{ url: publicUrl }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => withoutUnusedSchemas(jsonSchemaTransformObject(document) as Document) as never,
  })
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
  await app.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      pageTitle: 'Rapport API reference',
      url: '/openapi.json',
      withDefaultFonts: false,
      hideClientButton: true,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
    } as never,
  })
}

interface Document {
  components?: { schemas?: Record<string, unknown> }
}

/** Each named schema is made twice, as it comes in and as it goes out: leaves out those that nothing refers to. */
function withoutUnusedSchemas(document: Document): Document {
  const schemas = document.components?.schemas ?? {}
  const text = JSON.stringify(document)
  const used = Object.entries(schemas).filter(([name]) => text.includes(`"#/components/schemas/${name}"`))
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(used) } }
}
