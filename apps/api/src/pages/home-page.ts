import { Readiness } from '@rapport/core/db/readiness.ts'
import { english } from '@rapport/core/kernel/values/languages.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { PublicQuery } from '../routes/shapes.ts'
import { acceptsHtml, engine, pageResponse, sendDocument } from './document.ts'

// The links are relative, so that they also work behind a proxy that adds a path.
const template =
  engine.parse(`<p>A headless CRM: contacts, forms, lists, newsletters, deals, tasks and webhooks behind one HTTP API.</p>
<ul>
<li><a href="docs/">Guides</a>: your first requests, authentication, errors, paging, limits, idempotency, webhooks, contacts, forms, newsletters, templates, consent</li>
<li><a href="docs/reference">API reference</a>: every operation</li>
<li><a href="openapi.json">openapi.json</a>: the same as OpenAPI 3.1, or <a href="openapi.json?version=3.0">3.0</a></li>
</ul>
<p><strong>Status: {{ status }}</strong>, version {{ version }}</p>
<ul>
<li>Server: {{ parts.server }}</li>
<li>PostgreSQL: {{ parts.database }}</li>
<li>Redis: {{ parts.redis }}</li>
</ul>`)

const Home = z
  .object({
    name: z.literal('Rapport').describe('Always `Rapport`.'),
    version: z.string().describe('The version of Rapport.'),
    status: Readiness.shape.status.describe('As in `GET /ready`.'),
    parts: Readiness.shape.parts.describe('The state of each part, as in `GET /ready`.'),
    guidesUrl: z.string().describe('The guides, for people.'),
    referenceUrl: z.string().describe('The API reference, for people.'),
    openApiUrl: z.string().describe('The OpenAPI document, for programs.'),
  })
  .meta({ id: 'Home', description: 'What this server is, and where its documentation is.' })

/** The page at the root: what this server is, its documentation, and the health of its parts. */
export const homePage: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/',
    {
      schema: {
        tags: ['Operators'],
        querystring: PublicQuery,
        operationId: 'pages.showHome',
        summary: 'Show the home page',
        description:
          'Returns a page with links to the documentation and the health of each part, or the same as JSON for clients that accept only JSON. The status is 200 even if a part is down: monitor `GET /ready` instead.',
        response: { 200: { content: { ...pageResponse.content, 'application/json': { schema: Home } } } },
      },
    },
    async (request, reply) => {
      const { status, parts, version } = await app.readReadiness()
      reply.vary('accept')
      const isJsonWanted = /\bapplication\/json\b/.test(request.headers.accept ?? '') && !acceptsHtml(request)
      if (!isJsonWanted) {
        const content = String(engine.renderSync(template, { status, parts, version }))
        return sendDocument(reply, { language: english, heading: 'Rapport', content })
      }
      const { publicUrl } = request.baseCtx.settings
      const home: z.input<typeof Home> = {
        name: 'Rapport',
        version,
        status,
        parts,
        guidesUrl: `${publicUrl}/docs/`,
        referenceUrl: `${publicUrl}/docs/reference`,
        openApiUrl: `${publicUrl}/openapi.json`,
      }
      return reply.type('application/json; charset=utf-8').preventCache().send(home)
    },
  )
}
