import type { IncomingMessage } from 'node:http'
import {
  isTestUnsubscribe,
  openConfirmation,
  openUndo,
  openUnsubscribe,
  type SubscriptionLink,
  unsubscribeToken,
} from '@rapport/core/lists/subscription-links.ts'
import { LinkToken } from '@rapport/core/kernel/validation.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { findListSender, type ListSender } from '@rapport/core/lists/list-sender.ts'
import { confirmSubscription } from '@rapport/core/lists/subscribe.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { toErrorBody } from '../http/errors/error-handler.ts'
import { PublicQuery } from '../routes/shapes.ts'
import { pageResponse, errorPageResponse, acceptsHtml } from './document.ts'
import { sendMessage, suspendedMessage } from './message-page.ts'
import { undoUnsubscribe, unsubscribe } from '@rapport/core/operations/contacts/unsubscribe.ts'

const TokenQuery = PublicQuery.extend({ token: LinkToken(600).describe('The token in the link.') })
const schema = (operationId: string, summary: string, description: string) => ({
  tags: ['Hosted pages'],
  operationId,
  summary,
  description,
  querystring: TokenQuery,
  response: { 200: pageResponse, 400: errorPageResponse },
})

/** For a POST that a suspended workspace refuses. */
const writingSchema = (...texts: Parameters<typeof schema>) => ({
  ...schema(...texts),
  response: { 200: pageResponse, 400: errorPageResponse, 403: errorPageResponse },
})

/**
 * The pages behind the links in emails. GET changes nothing, because mail scanners follow every link. The button sends
 * a POST, and so does the one-click unsubscribe of a mail client (RFC 8058).
 */
export const subscriptionPages: FastifyPluginAsyncZod = async (app) => {
  // The body is discarded, whatever it is: the token is sufficient, and mail clients send more than RFC 8058 allows.
  // Without the header, the parser for any type applies, also to a content type that Fastify considers invalid.
  app.addHook('onRequest', async ({ headers }) => void delete headers['content-type'])
  app.addContentTypeParser('*', async (_request: unknown, payload: IncomingMessage) => void payload.resume())
  app.setErrorHandler((error, request, reply) => {
    const body = acceptsHtml(request) ? toErrorBody(error) : undefined
    if (body?.code === 'workspace_suspended') return sendMessage(reply.code(403), suspendedMessage)
    if (body?.statusCode !== 400) throw error
    const text = invalidLinkTexts[request.routeOptions.url ?? ''] ?? ''
    return sendMessage(reply.code(400), { title: 'This link does not work', text })
  })

  app.get(
    '/public/subscriptions/confirm',
    {
      schema: schema(
        'pages.showConfirmation',
        'Show the page "Confirm your subscription"',
        'The page that the link in a confirmation email opens. It changes nothing: its button sends the POST.',
      ),
    },
    showConfirm,
  )
  app.post(
    '/public/subscriptions/confirm',
    {
      schema: writingSchema(
        'public.confirmSubscription',
        'Confirm a subscription',
        'Sets the subscription to `CONFIRMED`. The body is ignored: the token is sufficient.',
      ),
    },
    submitConfirm,
  )
  app.get(
    '/public/unsubscribe',
    {
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
      schema: schema(
        'public.unsubscribe',
        'Unsubscribe with one click (RFC 8058)',
        'Sets the subscription to `UNSUBSCRIBED`. The body is ignored: the token is sufficient.',
      ),
    },
    submitUnsubscribe,
  )
  app.post(
    '/public/subscriptions/undo-unsubscribe',
    {
      schema: writingSchema(
        'public.undoUnsubscribe',
        'Undo an unsubscribe',
        'Sets the subscription to `CONFIRMED` again. Only the page after unsubscribing has the token, which is valid for ten minutes. Returns 400 if the subscription has changed since.',
      ),
    },
    submitUndo,
  )
}

const invalidLinkTexts: Record<string, string> = {
  '/public/unsubscribe':
    'The link is incomplete. Please click it again in the email, or reply to the email and ask to be removed.',
  '/public/subscriptions/confirm':
    'The link may be incomplete or older than seven days. Please use the link in the latest email, or subscribe again.',
  '/public/subscriptions/undo-unsubscribe':
    'You can undo this only within ten minutes after you unsubscribed. Please subscribe again where you signed up.',
}

type TokenRequest = FastifyRequest<{ Querystring: z.output<typeof TokenQuery> }>

async function showConfirm({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const listSender = await findListSender(baseCtx, openConfirmation(baseCtx, query.token))
  return sendMessage(reply, {
    title: 'Confirm your subscription',
    text: `Click the button to receive ${describeEmails(listSender)}. You can unsubscribe at any time.`,
    button: 'Confirm subscription',
    branding: listSender?.branding,
  })
}

async function submitConfirm({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const subscription = openConfirmation(baseCtx, query.token)
  const listSender = await findListSender(baseCtx, subscription)
  await confirmSubscription(baseCtx, query.token)
  return sendMessage(reply, {
    title: 'You are subscribed',
    text: `You will receive ${describeEmails(listSender)}. You can close this page.`,
    link: linkToUnsubscribe(baseCtx, subscription),
    branding: listSender?.branding,
  })
}

async function showUnsubscribe({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  if (isTestUnsubscribe(baseCtx, query.token)) return sendTestMessage(reply)
  const listSender = await findListSender(baseCtx, openUnsubscribe(baseCtx, query.token))
  return sendMessage(reply, {
    title: 'Unsubscribe',
    text: `Click the button to stop receiving ${describeEmails(listSender)}.`,
    button: 'Unsubscribe',
    branding: listSender?.branding,
  })
}

async function submitUnsubscribe({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  if (isTestUnsubscribe(baseCtx, query.token)) return sendTestMessage(reply)
  const listSender = await findListSender(baseCtx, openUnsubscribe(baseCtx, query.token))
  const undo = await unsubscribe(baseCtx, query.token)
  const text = `You will no longer receive ${describeEmails(listSender)}.`
  if (undo === undefined || !listSender)
    return sendMessage(reply, { title: unsubscribed, text, branding: listSender?.branding })
  return sendMessage(reply, {
    title: unsubscribed,
    text: `${text} If this was a mistake, you can undo it within ten minutes.`,
    button: 'Subscribe again',
    action: `subscriptions/undo-unsubscribe?token=${undo}`,
    isSecondary: true,
    branding: listSender.branding,
  })
}

const unsubscribed = 'You are unsubscribed'

async function submitUndo({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const subscription = openUndo(baseCtx, query.token)
  await undoUnsubscribe(baseCtx, query.token)
  const listSender = await findListSender(baseCtx, subscription)
  return sendMessage(reply, {
    title: 'You are subscribed again',
    text: `You will receive ${describeEmails(listSender)} as before. You can close this page.`,
    link: linkToUnsubscribe(baseCtx, subscription),
    branding: listSender?.branding,
  })
}

const sendTestMessage = (reply: FastifyReply) =>
  sendMessage(reply, {
    title: 'This is a test email',
    text: 'The link does nothing. In the campaign, it unsubscribes the recipient.',
  })

/** Relative to a page below `/public/subscriptions/`, so that it also works behind a proxy that adds a path prefix. */
function linkToUnsubscribe(base: BaseCtx, { workspaceId, listId, contactId, emailHash }: SubscriptionOfAddress) {
  const token = unsubscribeToken(base, { workspaceId, listId, contactId, emailHash })
  return { url: `../unsubscribe?token=${token}`, label: 'Unsubscribe' }
}

type SubscriptionOfAddress = SubscriptionLink & { emailHash: string }

/** The list and its sender; the list may have been deleted. */
const describeEmails = (listSender: ListSender | undefined) =>
  listSender ? `“${listSender.list}” from ${listSender.sender}` : 'emails from this list'
