import { openConfirmation, openUnsubscribe } from '@rapport/core/lists/links.ts'
import { confirmSubscription, unsubscribe } from '@rapport/core/lists/subscriptions.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorBody } from '../error-handler.ts'
import { sendPage, wantsHtml } from './page.ts'

const TokenQuery = z.strictObject({ token: z.string().max(600) })
const Html = z.string().describe('An HTML page')
const schema = (summary: string) => ({
  tags: ['Subscription pages'],
  summary,
  querystring: TokenQuery,
  response: { 200: { content: { 'text/html': { schema: Html } } } },
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
    if (errorBody(error)?.statusCode !== 400 || !wantsHtml(request)) throw error
    return sendPage(reply.code(400), {
      title: 'This link does not work',
      text: 'It may be incomplete or older than seven days. Please use the newest mail, or sign up once more.',
    })
  })

  app.get('/public/subscriptions/confirm', { schema: schema('The page behind a confirmation link') }, showConfirm)
  app.post('/public/subscriptions/confirm', { schema: schema('Confirm a subscription') }, confirm)
  app.get('/public/unsubscribe', { schema: schema('The page behind an unsubscribe link') }, showUnsubscribe)
  app.post('/public/unsubscribe', { schema: schema('Unsubscribe, in one click (RFC 8058)') }, leave)
}

type TokenRequest = FastifyRequest<{ Querystring: z.output<typeof TokenQuery> }>

async function showConfirm(request: TokenRequest, reply: FastifyReply) {
  openConfirmation(request.baseCtx, request.query.token)
  return sendPage(reply, {
    title: 'Confirm your subscription',
    text: 'One click, and the newsletter will come to your inbox. You can leave at any time.',
    button: 'Confirm subscription',
  })
}

async function confirm(request: TokenRequest, reply: FastifyReply) {
  await confirmSubscription(request.baseCtx, request.query.token)
  return sendPage(reply, { title: 'You are subscribed', text: 'Thank you. You can close this page.' })
}

async function showUnsubscribe(request: TokenRequest, reply: FastifyReply) {
  openUnsubscribe(request.baseCtx, request.query.token)
  return sendPage(reply, {
    title: 'Unsubscribe',
    text: 'You will get no more mails from this list.',
    button: 'Unsubscribe',
  })
}

async function leave(request: TokenRequest, reply: FastifyReply) {
  await unsubscribe(request.baseCtx, request.query.token)
  return sendPage(reply, { title: 'You are unsubscribed', text: 'No more mails from this list will be sent to you.' })
}
