import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { staticResponse } from '../http/conditional-requests/static-response.ts'
import type { OpenApiDocument } from './bruno/openapi-document.ts'
import { hrefOf, renderGuidePage, renderReferencePage } from './documentation-page.ts'
import { type Guide, guides } from './guides.ts'
import { joinGuides, renderLlmsTxt } from './llms-txt.ts'
import { renderMarkdown } from './markdown.ts'
import { readReferenceScript, referenceConfiguration, referencePolicy } from './reference.ts'
import { collectRoutes, toLimitTable, toRoleTable } from './route-tables.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The routes of the OpenAPI document. */
    documentedRoutes: readonly RouteOptions[]
  }
}

const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8')

const guidePolicy =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const html = (policy: string) => ({
  type: 'text/html; charset=utf-8',
  headers: { 'content-security-policy': policy },
})

const plainText = 'text/plain; charset=utf-8'

/**
 * The documentation at `/docs/`: guides, each also as Markdown, the API reference, and a collection for Bruno.
 * `/llms.txt` links to the guides and the reference.
 */
export const documentation = fp(
  async (app: FastifyInstance, { publicUrl }: { publicUrl: string }) => {
    const routes = collectRoutes(app)
    app.decorate('documentedRoutes', routes)
    /** The Markdown with the tables that are generated from the routes, and with the URL of this installation. */
    const complete = ({ markdown }: Guide) =>
      markdown
        .replace('<!-- table of roles -->', () => toRoleTable(routes))
        .replace('<!-- table of limits -->', () => toLimitTable(routes))
        .replaceAll('http://localhost:3000', publicUrl)
    const renderGuide = (guide: Guide) =>
      renderGuidePage(guide, { guides, content: renderMarkdown(complete(guide), resolveLink) })

    /** The modules that make the archive are loaded only if someone downloads it. */
    async function buildBrunoArchive() {
      const { zipBrunoCollection } = await import('./bruno/bruno-archive.ts')
      return zipBrunoCollection(app.swagger() as unknown as OpenApiDocument, publicUrl)
    }

    // Relative, so that it also works behind a proxy that adds a path.
    app.get('/docs', hidden, (request, reply) => reply.redirect(`docs/${new URL(request.url, publicUrl).search}`, 301))
    for (const guide of guides) {
      app.get(
        guide.slug === 'index' ? '/docs/' : `/docs/${guide.slug}`,
        hidden,
        staticResponse({ ...html(guidePolicy), build: () => renderGuide(guide) }),
      )
      const type = 'text/markdown; charset=utf-8'
      app.get(`/docs/${guide.slug}.md`, hidden, staticResponse({ type, build: () => complete(guide) }))
    }
    app.get('/docs/style.css', hidden, staticResponse({ type: 'text/css; charset=utf-8', build: () => style }))
    app.get(
      '/docs/reference',
      hidden,
      staticResponse({ ...html(referencePolicy), build: () => renderReferencePage(referenceConfiguration) }),
    )
    app.get(
      '/docs/scalar.js',
      hidden,
      staticResponse({ type: 'text/javascript; charset=utf-8', build: readReferenceScript }),
    )
    app.get(
      '/docs/bruno.zip',
      hidden,
      staticResponse({
        type: 'application/zip',
        headers: { 'content-disposition': 'attachment; filename="rapport-bruno.zip"' },
        build: buildBrunoArchive,
      }),
    )
    app.get('/llms.txt', hidden, staticResponse({ type: plainText, build: () => renderLlmsTxt(guides, publicUrl) }))
    app.get(
      '/llms-full.txt',
      hidden,
      staticResponse({ type: plainText, build: () => joinGuides(guides, { publicUrl, complete }) }),
    )
  },
  { name: 'documentation', dependencies: ['@fastify/sensible', 'rate-limits'] },
)

const hidden = { schema: { hide: true } }

/** A link from a guide to another guide leads to its page. Links to other files lead nowhere: they are not served. */
function resolveLink(href: string): string | undefined {
  if (/^(https?:|#)/.test(href)) return href
  const [file = '', anchor] = href.split('#')
  const guide = guides.find(({ slug }) => file === `${slug}.md`)
  return guide && (anchor === undefined ? hrefOf(guide) : `${hrefOf(guide)}#${anchor}`)
}
