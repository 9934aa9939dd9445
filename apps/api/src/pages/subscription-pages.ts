import { openConfirmation, openUnsubscribe } from '@rapport/core/lists/subscription-links.ts'
import { findListSender, type ListSender } from '@rapport/core/lists/list-sender.ts'
import { confirmSubscription } from '@rapport/core/lists/subscribe.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { toErrorBody } from '../http/error-handler.ts'
import { pageResponse, errorPageResponse, acceptsHtml } from './document.ts'
import { sendMessage } from './message-page.ts'
import { unsubscribe } from '@rapport/core/operations/unsubscribe.ts'

const TokenQuery = z.strictObject({ token: z.string().max(600) })
const schema = (summary: string) => ({
  tags: ['Subscription pages'],
  summary,
  querystring: TokenQuery,
  response: { 200: pageResponse, 400: errorPageResponse },
})

/**
 * What the links in mails lead to. GET changes nothing, as mail scanners fetch every link; the button, or a mail
 * program's one-click (RFC 8058), posts.
 */
export const subscriptionPages: FastifyPluginAsyncZod = async (app) => {
  // Both forms that RFC 8058 allows. The body says nothing that the token does not.
  app.addContentTypeParser(
    ['application/x-www-form-urlencoded', 'multipart/form-data'],
    { parseAs: 'buffer', bodyLimit: 65_536 },
    async () => undefined,
  )
  app.setErrorHandler((error, request, reply) => {
    if (toErrorBody(error)?.statusCode !== 400 || !acceptsHtml(request)) throw error
    const isUnsubscribe = request.routeOptions.url === '/public/unsubscribe'
    return sendMessage(reply.code(400), {
      title: 'This link does not work',
      text: isUnsubscribe
        ? 'It is incomplete. Please click the link in the mail itself, or answer the mail and ask to be taken off the list.'
        : 'It may be incomplete or older than seven days. Please use the newest mail, or sign up once more.',
    })
  })

  app.get('/public/subscriptions/confirm', { schema: schema('The page behind a confirmation link') }, showConfirm)
  app.post('/public/subscriptions/confirm', { schema: schema('Confirm a subscription') }, submitConfirm)
  app.get('/public/unsubscribe', { schema: schema('The page behind an unsubscribe link') }, showUnsubscribe)
  app.post('/public/unsubscribe', { schema: schema('Unsubscribe, in one click (RFC 8058)') }, submitUnsubscribe)
}

type TokenRequest = FastifyRequest<{ Querystring: z.output<typeof TokenQuery> }>

async function showConfirm({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const named = await findListSender(baseCtx, openConfirmation(baseCtx, query.token))
  return sendMessage(reply, {
    title: 'Confirm your subscription',
    text: `One click, and ${named ? `${named.sender} will send you “${named.list}”` : 'the newsletter will come to your inbox'}. You can leave at any time.`,
    button: 'Confirm subscription',
  })
}

async function submitConfirm({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const named = await findListSender(baseCtx, openConfirmation(baseCtx, query.token))
  await confirmSubscription(baseCtx, query.token)
  return sendMessage(reply, {
    title: 'You are subscribed',
    text: `${named ? `${named.sender} will send you “${named.list}”` : 'Thank you'}. You can close this page.`,
  })
}

async function showUnsubscribe({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const named = await findListSender(baseCtx, openUnsubscribe(baseCtx, query.token))
  return sendMessage(reply, {
    title: 'Unsubscribe',
    text: `With one click, ${named ? nothingMore(named) : 'you will get no more mails from this list.'}`,
    button: 'Unsubscribe',
  })
}

async function submitUnsubscribe({ baseCtx, query }: TokenRequest, reply: FastifyReply) {
  const named = await findListSender(baseCtx, openUnsubscribe(baseCtx, query.token))
  await unsubscribe(baseCtx, query.token)
  return sendMessage(reply, {
    title: 'You are unsubscribed',
    text: named ? nothingMore(named) : 'No more mails from this list will be sent to you.',
  })
}

const nothingMore = ({ list, sender }: ListSender) => `${sender} will send you no more mails of “${list}”.`
