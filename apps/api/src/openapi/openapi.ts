import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { version } from '@rapport/core/runtime/version.ts'
import { staticResponse } from '../http/conditional-requests/static-response.ts'
import { describeRoute, finishDocument } from './openapi-document.ts'
import { withErrorResponses } from './error-responses.ts'
import { toOpenApi30 } from './to-openapi-30.ts'

/** In reading order. */
const tags = {
  Authentication: 'Sign-up, login, passwords and sessions.',
  'API keys': 'Credentials for programs. A key has a role and belongs to one workspace.',
  Team: 'The workspace, its members and their invites.',
  Contacts: 'The people in the workspace, their tags and custom fields.',
  Companies: 'The organizations that contacts and deals belong to.',
  Imports: 'Files of contacts that are imported in the background.',
  Forms: 'Forms for any website, and their submissions.',
  Lists: 'Lists of subscribers and their consent.',
  Suppressions: 'Addresses to which the workspace sends no email.',
  Segments: 'Saved filters over contacts.',
  Campaigns: 'Newsletters to the subscribers of a list.',
  Emails: 'Templates, and emails from them to one person each.',
  Domains: 'The domains that the workspace sends from, and their DNS records.',
  'Mail hooks': 'URLs for the webhooks of mail providers, which report bounces and complaints.',
  Pipelines: 'The stages that deals pass through.',
  Deals: 'Possible sales to contacts.',
  Tasks: 'To-dos for contacts.',
  Notes: 'Notes, calls and meetings about contacts and deals.',
  Webhooks: 'URLs that receive events, and the deliveries to them.',
  Events: 'The log of changes, and the requests that webhooks receive.',
  Agents: 'The tools of agents, by the Model Context Protocol.',
  Operators: 'Health, readiness, metrics and this document.',
  'Hosted pages': 'Hosted forms, and the pages and images behind the links in emails.',
}

const OpenApiDocument = z
  .record(z.string(), z.unknown())
  .meta({ id: 'OpenApiDocument', description: 'A document as defined by OpenAPI 3.1 or 3.0.' })

const DocumentQuery = z.strictObject({
  version: z
    .enum(['3.1', '3.0'])
    .default('3.1')
    .describe('The version of OpenAPI. `3.0` is for generators that cannot read 3.1; it has no webhooks.'),
})

/** Documents every route registered after it at `/openapi.json`, as OpenAPI 3.1 and 3.0. */
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
          description: `A headless CRM: contacts, forms, lists, newsletters, deals, tasks and webhooks behind one HTTP API. The [guides](${publicUrl}/docs/) show your first requests, and explain authentication, errors, paging, limits, webhooks and more. A method that a path does not have is a 405, with the methods that it has in the header "allow". At the host of a workspace (see Domains), only its public pages exist.`,
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: publicUrl }],
        tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
        security: [{ bearer: [] }],
        components: {
          securitySchemes: {
            bearer: {
              type: 'http',
              scheme: 'bearer',
              description:
                'Send `Authorization: Bearer <credential>`. The credential is an API key (`rpk_…`, from `POST /api-keys`) or the token of a session (`rps_…`, from `POST /auth/signup` or `POST /auth/login`). `x-required-role` of an operation is the lowest role that may call it, and `x-required-right` is what the `rights` of an API key must include, if it has any.',
            },
            metricsToken: {
              type: 'http',
              scheme: 'bearer',
              description: 'Send `Authorization: Bearer <METRICS_TOKEN>`, with the token that the operator configured.',
            },
          },
        },
      },
      transform: describeRoute,
      transformObject: finishDocument,
    })
    const answer = (build: () => object) =>
      staticResponse({ type: 'application/json; charset=utf-8', build: () => JSON.stringify(build()) })
    const answers = { '3.1': answer(() => app.swagger()), '3.0': answer(() => toOpenApi30(app.swagger())) }
    app.get(
      '/openapi.json',
      {
        schema: {
          tags: ['Operators'],
          operationId: 'openApi.get',
          summary: 'Retrieve this document',
          description: 'Returns the OpenAPI document of this API. `/docs` has guides, and shows it as a reference.',
          querystring: DocumentQuery,
          response: { 200: OpenApiDocument, 304: z.null().describe('Not modified') },
        },
      },
      (request, reply) => answers[(request.query as z.output<typeof DocumentQuery>).version](request, reply),
    )
  },
  { name: 'open-api', dependencies: ['schema-compilers', 'rate-limits'] },
)
