import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { colons, languages } from '@rapport/core/kernel/values/languages.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { computeEntityTag, isNotModified } from '../http/conditional-requests/entity-tags.ts'
import { PublicQuery } from '../routes/shapes.ts'
import { pageTexts } from './page-language.ts'

const source = readFileSync(join(import.meta.dirname, 'rapport-form.js'), 'utf8')
/** Texts with values are functions, which JSON omits: the script has none. */
const texts = Object.fromEntries(
  languages.map((language) => [language, { ...pageTexts[language].form, colon: colons[language] }]),
)
/** Without indentation, which is a fifth of it. */
const script = source.replace(/^ +/gm, '').replace("'TEXTS'", () => JSON.stringify(texts))
const etag = computeEntityTag(script)

/** The script that defines the element `<rapport-form>` for use on any website. */
export const embedScript: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/embed/form.js',
    {
      schema: {
        tags: ['Forms'],
        operationId: 'pages.getEmbedScript',
        summary: 'Retrieve the embed script',
        description:
          'Shows a form on any website: load this script, and add the element `<rapport-form form-id="frm_…">` where the form belongs.',
        querystring: PublicQuery,
        response: {
          200: { content: { 'text/javascript': { schema: z.string().describe('JavaScript') } } },
          304: z.null().describe('Not modified'),
        },
      },
    },
    async (request, reply) => {
      reply
        .header('etag', etag)
        .cacheControl('public')
        .cacheControl('max-age', 3600)
        .header('access-control-allow-origin', '*')
        .header('cross-origin-resource-policy', 'cross-origin')
      if (isNotModified(request.headers['if-none-match'], etag)) return reply.code(304).send(null)
      return reply.type('text/javascript; charset=utf-8').send(script)
    },
  )
}
