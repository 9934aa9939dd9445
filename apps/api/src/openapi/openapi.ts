import swagger from '@fastify/swagger'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { version } from '@rapport/core/runtime/version.ts'
import { NoQuery } from '../routes/shapes.ts'
import { describeRoute, finishDocument } from './openapi-document.ts'
import { withErrorResponses } from './error-responses.ts'

const tagsInReadingOrder = [
  'Authentication',
  'API keys',
  'Team',
  'Contacts',
  'Imports',
  'Forms',
  'Lists',
  'Subscription pages',
  'Campaigns',
  'Pipelines',
  'Deals',
  'Tasks',
  'Webhooks',
  'Events',
  'Operators',
]

/** Documents every route registered after it: OpenAPI 3.1 at `/openapi.json`, a reference page at `/docs`. */
export const openApi = fp(
  async (app: FastifyInstance, { publicUrl }: { publicUrl: string }) => {
    app.addHook('onRoute', (route) => {
      if (route.schema && !route.schema.hide) route.schema.response = withErrorResponses(route)
    })
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Rapport',
          version,
          description:
            'A headless CRM: contacts, forms, lists, newsletters, deals, tasks and webhooks behind one HTTP API.',
        },
        servers: [{ url: publicUrl }],
        tags: tagsInReadingOrder.map((name) => ({ name })),
        components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      },
      transform: describeRoute,
      transformObject: finishDocument,
    })
    app.get('/openapi.json', { schema: { hide: true, querystring: NoQuery } }, () => app.swagger())
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
  },
  { name: 'open-api', dependencies: ['schema-compilers', 'rate-limits'] },
)
