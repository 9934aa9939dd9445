import { findContactLocale } from '@rapport/core/mail/find-contact-locale.ts'
import { confirmTrackingConsent } from '@rapport/core/operations/contacts/tracking-consent.ts'
import { openTrackingConfirmation } from '@rapport/core/consent/tracking/tracking-links.ts'
import { findBranding } from '@rapport/core/workspaces/branding.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { errorPageResponse, pageResponse } from './document.ts'
import { sendMessage, showBrokenLinks } from './message-page.ts'
import { readPageLanguage, TokenQuery } from './page-language.ts'
import { discardBodies } from './posted-form.ts'

const schema = (operationId: string, summary: string, description: string) => ({
  tags: ['Hosted pages'],
  operationId,
  summary,
  description,
  querystring: TokenQuery,
  response: { 200: pageResponse, 400: errorPageResponse, 403: errorPageResponse, 404: errorPageResponse },
})

/** The page of the link that confirms a grant of tracking. GET changes nothing, because mail scanners follow links. */
export const trackingConsentPages: FastifyPluginAsyncZod = async (app) => {
  discardBodies(app)
  showBrokenLinks(app, ({ tracking }) => tracking.broken)

  app.get(
    '/public/tracking/confirm',
    {
      config: { openMailToken: openTrackingConfirmation },
      schema: schema(
        'pages.showTrackingConfirmation',
        'Show the page "Confirm what may be recorded"',
        'The page that the link in an email opens after a request to grant tracking. It changes nothing: its button sends the POST.',
      ),
    },
    showConfirm,
  )
  app.post(
    '/public/tracking/confirm',
    {
      config: { openMailToken: openTrackingConfirmation },
      schema: schema(
        'public.confirmTracking',
        'Confirm a grant of tracking',
        'Opens and clicks of the contact are recorded from now on, as far as the email named them. Emits `tracking_consent.changed`. The body is ignored: the token is sufficient.',
      ),
    },
    submitConfirm,
  )
}

type TokenRequest = FastifyRequest<{ Querystring: z.output<typeof TokenQuery> }>

async function showConfirm(request: TokenRequest, reply: FastifyReply) {
  const { branding, language, sender, what } = await readPage(request)
  const { title, text, button } = language.texts.tracking.confirm
  return sendMessage(reply, { language, title, text: text(sender, what), button, branding })
}

async function submitConfirm(request: TokenRequest, reply: FastifyReply) {
  await confirmTrackingConsent(request.baseCtx, request.query.token)
  const { branding, language, sender, what } = await readPage(request)
  const { title, text } = language.texts.tracking.confirmed
  return sendMessage(reply, { language, title, text: text(sender, what), branding })
}

/** The sender and what it may record, as the page says it. Of the contact, only the language. */
async function readPage(request: TokenRequest) {
  const { workspaceId, contactId, scope } = openTrackingConfirmation(request.baseCtx, request.query.token)
  const branding = await findBranding(request.baseCtx, workspaceId)
  const contact = await findContactLocale(request.baseCtx, { workspaceId, contactId })
  const language = readPageLanguage(request, { contact, workspace: branding?.locale ?? null })
  const { tracking } = language.texts
  const [action = 'opens', other] = scope
  return { branding, language, sender: branding?.name ?? '', what: other ? tracking.opensAndClicks : tracking[action] }
}
