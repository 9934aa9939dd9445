import { openWebVersion, renderWebVersion, type WebVersion } from '@rapport/core/campaigns/web-version.ts'
import { AppError, invalidToken } from '@rapport/core/kernel/errors.ts'
import type { CampaignId } from '@rapport/core/kernel/ids.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { LRUCache } from 'lru-cache'
import { IdParams } from '../routes/shapes.ts'
import { engine, errorPageResponse, pageResponse } from './document.ts'
import { showBrokenLinks } from './message-page.ts'
import { TokenQuery } from './page-language.ts'

/**
 * The page is written by a customer. `sandbox` gives it an origin of its own, without scripts and forms, so that it can do
 * no more than an email. Its links open as usual.
 */
const policy = [
  'sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation',
  `default-src 'none'`,
  'img-src http: https: data:',
  'font-src http: https: data:',
  `style-src 'unsafe-inline' http: https:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

const fragmentPage = engine.parse(`<!doctype html>
<html lang="{{ locale }}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{ subject }}</title></head>
<body>{% if html %}{{ html | raw }}{% else %}<pre style="white-space:pre-wrap;font:inherit">{{ text }}</pre>{% endif %}</body>
</html>
`)

/** An email of HTML may be a fragment, or a document of its own. */
function toPage(email: WebVersion): string {
  const { html } = email
  const isDocument = html !== undefined && /<(?:!doctype|html|head|body)[\s>]/i.test(html)
  return isDocument ? html : String(engine.renderSync(fragmentPage, email))
}

/** A newsletter may be opened by many people at once, and rendering it takes processor time. */
const ttlMs = 10_000

/** Keeps that there is no page, too. */
function keepMissing(error: unknown): AppError {
  if (error instanceof AppError && error.code === 'not_found') return error
  throw error
}

/** The email of a campaign as a page, for 90 days. */
export const webVersionPages: FastifyPluginAsyncZod = async (app) => {
  showBrokenLinks(app, (texts) => texts.brokenTrackedLink)
  const pages = new LRUCache<CampaignId, string | AppError, { base: BaseCtx; token: string }>({
    max: 100,
    maxSize: 32 * 1_048_576,
    sizeCalculation: (page) => (page instanceof AppError ? 1 : page.length),
    ttl: ttlMs,
    ignoreFetchAbort: true,
    fetchMethod: (_id, _stale, { context: { base, token } }) =>
      renderWebVersion(base, openWebVersion(base, token)).then(toPage, keepMissing),
  })

  app.get(
    '/public/campaigns/:id/web',
    {
      config: { openMailToken: openWebVersion },
      schema: {
        tags: ['Hosted pages'],
        operationId: 'pages.showWebVersion',
        summary: 'Show an email as a page',
        description:
          'The page that `webVersionUrl` in the email of a campaign leads to: the email without what is of a person, and without its links to unsubscribe. Returns 404 before the campaign is sent, 90 days after that, and with `webVersion: false`.',
        params: IdParams('cmp'),
        querystring: TokenQuery,
        response: { 200: pageResponse, 400: errorPageResponse, 403: errorPageResponse, 404: errorPageResponse },
      },
    },
    async (request, reply) => {
      const { baseCtx: base, params, query } = request
      const { campaignId } = openWebVersion(base, query.token)
      if (campaignId !== params.id) throw invalidToken()
      const page = await pages.forceFetch(campaignId, { context: { base, token: query.token } })
      if (page instanceof AppError) throw page
      return reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', policy)
        .header('x-robots-tag', 'noindex')
        .preventCache()
        .send(page)
    },
  )
}
