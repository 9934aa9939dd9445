import { Id } from '@rapport/core/kernel/ids.ts'
import { Token } from '@rapport/core/kernel/validation.ts'
import { Provider } from '@rapport/core/mail-hooks/mail-hooks.schema.ts'
import { type HookContext, refusedMessage } from '@rapport/core/mail/providers/hook-message.ts'
import { MailReportResult } from '@rapport/core/operations/mail/mail-events.schema.ts'
import { receiveHookMessage } from '@rapport/core/operations/mail/receive-hook-message.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type ConstantTime, roundUpDuration } from '../http/constant-time.ts'
import { PublicQuery } from './shapes.ts'

export interface ProviderMessageOptions extends ConstantTime {
  readUrl: HookContext['readUrl']
  now: () => number
}

const params = z.object({
  provider: Provider,
  token: Token(64).meta({ description: 'The id of the mail hook.', examples: ['mhk_01kag7m3v9e8fs2t4w6x8y0z1b'] }),
})

/** The URLs of mail hooks. Instead of a credential, each message has the signature of its provider. */
export const providerMessageRoutes: FastifyPluginAsyncZod<ProviderMessageOptions> = async (app, options) => {
  // The signature covers the bytes of the body, whatever its content type is: that of Amazon SNS is text/plain.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.post(
    '/mail-events/:provider/:token',
    {
      config: { errorStatuses: [401, 413] },
      schema: {
        tags: ['Mail hooks'],
        operationId: 'mailHooks.receive',
        summary: 'Receive a message of a mail provider',
        description:
          'For the webhooks of mail providers: see `POST /mail-hooks`. The body is what the provider sends, in its format, with its signature; anything else gets 401. Bounces and complaints are recorded before the response, a repeated one once. Other events are accepted and ignored.',
        params,
        querystring: PublicQuery,
        response: { 200: MailReportResult },
      },
    },
    async (request, reply) => {
      const closed = new AbortController()
      reply.raw.once('close', () => closed.abort())
      const { provider, token } = request.params
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const received = {
        headers: toTexts(request.headers),
        body,
        readUrl: options.readUrl,
        now: new Date(options.now()),
        closed: closed.signal,
      }
      await roundUpDuration(options, async () => {
        const { data: hookId } = Id('mhk').safeParse(token)
        if (!hookId) throw refusedMessage()
        await receiveHookMessage(request.baseCtx, { ...received, provider, hookId })
      })
      return { success: true as const }
    },
  )
}

/** A header that is sent twice is not one that a provider sends. */
const toTexts = (headers: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : undefined]),
  )
