import {
  isTestUnsubscribe,
  openConfirmation,
  openUndo,
  openUnsubscribe,
  type SubscriptionLink,
  unsubscribeToken,
} from '@rapport/core/lists/subscription-links.ts'
import { preferencesToken } from '@rapport/core/consent/preferences-links.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { trackedActions } from '@rapport/core/db/schema/index.ts'
import type { TrackedAction } from '@rapport/core/consent/tracking/tracking-level.ts'
import { findListSender } from '@rapport/core/lists/list-sender.ts'
import { confirmSubscription } from '@rapport/core/lists/subscribe.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorPageResponse, pageResponse } from './document.ts'
import { sendMessage, showBrokenLinks } from './message-page.ts'
import { type PageLanguage, readPageLanguage, TokenQuery } from './page-language.ts'
import { discardBodies } from './posted-form.ts'
import type { PageTexts } from './texts/en.ts'
import { undoUnsubscribe, unsubscribe } from '@rapport/core/operations/contacts/unsubscribe.ts'

const schema = (operationId: string, summary: string, description: string) => ({
  tags: ['Hosted pages'],
  operationId,
  summary,
  description,
  querystring: TokenQuery,
  response: { 200: pageResponse, 400: errorPageResponse, 404: errorPageResponse },
})

const PostedBoxes = z
  .object({
    opens: z.string().optional().describe('Allows to record opens, if the email asked for it.'),
    clicks: z.string().optional().describe('The same for clicks on links.'),
  })
  .nullish()
  .describe('The boxes of the page that are ticked.')

/** For a POST that a suspended workspace refuses. */
const writingSchema = (...texts: Parameters<typeof schema>) => ({
  ...schema(...texts),
  response: { 200: pageResponse, 400: errorPageResponse, 403: errorPageResponse, 404: errorPageResponse },
})

/**
 * The pages behind the links in emails. GET changes nothing, because mail scanners follow every link. The button sends
 * a POST, and so does the one-click unsubscribe of a mail client (RFC 8058).
 */
export const subscriptionPages: FastifyPluginAsyncZod = async (app) => {
  discardBodies(app, { except: '/public/subscriptions/confirm' })
  showBrokenLinks(app, (texts, { routeOptions }) => describeBrokenLink(texts)[routeOptions.url ?? ''] ?? '')

  app.get(
    '/public/subscriptions/confirm',
    {
      config: { openMailToken: openConfirmation },
      schema: schema(
        'pages.showConfirmation',
        'Show the page "Confirm your subscription"',
        'The page that the link in a confirmation email opens. It says all that its button grants: the subscription, and tracking where a form asked for it, by boxes that are not ticked. It changes nothing: its button sends the POST.',
      ),
    },
    showConfirm,
  )
  app.post(
    '/public/subscriptions/confirm',
    {
      config: { openMailToken: openConfirmation },
      schema: {
        ...writingSchema(
          'public.confirmSubscription',
          'Confirm a subscription',
          'Sets the subscription to `CONFIRMED`. The token is sufficient. `opens` and `clicks`, the boxes of the page, also grant tracking as far as the email asked for it; any other body is ignored.',
        ),
        consumes: ['application/x-www-form-urlencoded'],
        body: PostedBoxes,
      },
    },
    submitConfirm,
  )
  app.get(
    '/public/unsubscribe',
    {
      config: { openMailToken: openUnsubscribe },
      schema: schema(
        'pages.showUnsubscribe',
        'Show the page "Unsubscribe"',
        'The page that the unsubscribe link in an email opens. It changes nothing: its button sends the POST.',
      ),
    },
    showUnsubscribe,
  )
  app.post(
    '/public/unsubscribe',
    {
      config: { openMailToken: openUnsubscribe },
      schema: schema(
        'public.unsubscribe',
        'Unsubscribe with one click (RFC 8058)',
        'Sets the subscription to `UNSUBSCRIBED`. If the list was deleted, opts out of all newsletters. The body is ignored: the token is sufficient.',
      ),
    },
    submitUnsubscribe,
  )
  app.post(
    '/public/subscriptions/undo-unsubscribe',
    {
      config: { openMailToken: openUndo },
      schema: writingSchema(
        'public.undoUnsubscribe',
        'Undo an unsubscribe',
        'Sets the subscription to `CONFIRMED` again. Only the page after unsubscribing has the token, which is valid for ten minutes. Returns 400 if the subscription has changed since.',
      ),
    },
    submitUndo,
  )
}

const describeBrokenLink = ({ subscription }: PageTexts): Record<string, string> => ({
  '/public/unsubscribe': subscription.brokenUnsubscribe,
  '/public/subscriptions/confirm': subscription.brokenConfirmation,
  '/public/subscriptions/undo-unsubscribe': subscription.brokenUndo,
})

type TokenRequest = FastifyRequest<{ Querystring: z.output<typeof TokenQuery> }>
type ConfirmRequest = FastifyRequest<{
  Querystring: z.output<typeof TokenQuery>
  Body: z.output<typeof PostedBoxes>
}>

/** Finds the list of a link, and how the page of the link names it, or what the link is about without it. */
async function preparePage(
  request: FastifyRequest,
  link: SubscriptionLink,
  without: 'anyEmails' | 'allNewsletters' = 'anyEmails',
) {
  const listSender = await findListSender(request.baseCtx, link)
  const language = readPageLanguage(request, listSender?.locales)
  const texts = language.texts.subscription
  const emails = listSender ? texts.emails(listSender.list, listSender.sender) : texts[without]
  return { language, texts, emails, sender: listSender?.sender ?? '', branding: listSender?.branding }
}

async function showConfirm(request: TokenRequest, reply: FastifyReply) {
  const subscription = openConfirmation(request.baseCtx, request.query.token)
  const { language, texts, emails, sender, branding } = await preparePage(request, subscription)
  const { title, text, button } = texts.confirm
  const boxes = createBoxes(language, sender, subscription.tracking)
  return sendMessage(reply, { language, title, text: text(emails), button, boxes, branding })
}

/** A tick that is set beforehand is no consent. */
function createBoxes({ texts }: PageLanguage, sender: string, tracking: readonly TrackedAction[]) {
  if (tracking.length === 0) return undefined
  const { title, ...labels } = texts.preferences.tracking
  return { title, text: texts.tracking.also(sender), rows: tracking.map((name) => ({ name, label: labels[name] })) }
}

async function submitConfirm(request: ConfirmRequest, reply: FastifyReply) {
  const subscription = openConfirmation(request.baseCtx, request.query.token)
  const { language, texts, emails, sender, branding } = await preparePage(request, subscription)
  const allowed = trackedActions.filter((action) => request.body?.[action] !== undefined)
  const granted = await confirmSubscription(request.baseCtx, request.query.token, allowed)
  const { title, text } = texts.confirmed
  const link = linkToUnsubscribe(request.baseCtx, subscription, language)
  const said = [...describeGranted(language, sender, granted), text(emails)].join(' ')
  return sendMessage(reply, { language, title, text: said, link, branding })
}

function describeGranted({ texts: { tracking } }: PageLanguage, sender: string, granted: readonly TrackedAction[]) {
  const [action, other] = granted
  return action ? [tracking.granted(sender, other ? tracking.opensAndClicks : tracking[action])] : []
}

async function showUnsubscribe(request: TokenRequest, reply: FastifyReply) {
  if (isTestUnsubscribe(request.baseCtx, request.query.token)) return sendTestMessage(request, reply)
  const subscription = openUnsubscribe(request.baseCtx, request.query.token)
  const { language, texts, emails, branding } = await preparePage(request, subscription, 'allNewsletters')
  const { title, text, button } = texts.unsubscribe
  const link = linkToPreferences(request.baseCtx, subscription, language)
  return sendMessage(reply, { language, title, text: text(emails), button, branding, ...link })
}

async function submitUnsubscribe(request: TokenRequest, reply: FastifyReply) {
  if (isTestUnsubscribe(request.baseCtx, request.query.token)) return sendTestMessage(request, reply)
  const subscription = openUnsubscribe(request.baseCtx, request.query.token)
  const { language, texts, emails, branding } = await preparePage(request, subscription, 'allNewsletters')
  const undo = await unsubscribe(request.baseCtx, request.query.token)
  const { title, button, ...unsubscribed } = texts.unsubscribed
  const text = unsubscribed.text(emails)
  const link = linkToPreferences(request.baseCtx, subscription, language)
  if (undo === undefined || !branding) return sendMessage(reply, { language, title, text, branding, ...link })
  return sendMessage(reply, {
    language,
    title,
    text: `${text} ${unsubscribed.undo}`,
    button,
    action: language.link(`subscriptions/undo-unsubscribe?token=${undo}`),
    isSecondary: true,
    branding,
    ...link,
  })
}

async function submitUndo(request: TokenRequest, reply: FastifyReply) {
  const subscription = openUndo(request.baseCtx, request.query.token)
  await undoUnsubscribe(request.baseCtx, request.query.token)
  const { language, texts, emails, branding } = await preparePage(request, subscription)
  const { title, text } = texts.restored
  const link = linkToUnsubscribe(request.baseCtx, subscription, language)
  return sendMessage(reply, { language, title, text: text(emails), link, branding })
}

function sendTestMessage(request: TokenRequest, reply: FastifyReply) {
  const language = readPageLanguage(request)
  return sendMessage(reply, { language, ...language.texts.subscription.test })
}

function linkToPreferences(
  base: BaseCtx,
  { workspaceId, contactId, email, campaignId }: ReturnType<typeof openUnsubscribe>,
  language: PageLanguage,
) {
  const url = language.link(
    `preferences?token=${preferencesToken(base, { workspaceId, contactId, email, campaignId })}`,
  )
  return { link: { url, label: language.texts.preferences.link } }
}

type SubscriptionOfAddress = SubscriptionLink & { email: string }

/** Relative to a page below `/public/subscriptions/`, so that it also works behind a proxy that adds a path prefix. */
function linkToUnsubscribe(
  base: BaseCtx,
  { workspaceId, listId, contactId, email }: SubscriptionOfAddress,
  language: PageLanguage,
) {
  const token = unsubscribeToken(base, { workspaceId, listId, contactId, email })
  const url = language.link(`../unsubscribe?token=${token}`)
  return { url, label: language.texts.subscription.unsubscribe.button }
}
