import { unwrapWebhook, type WebhookEvent, WebhookSignatureError } from '@rapport/sdk'
import { fastify, type FastifyInstance } from 'fastify'

interface Options {
  /** Undefined or null until the webhook exists. */
  readSecret: () => string | null | undefined
  /** Stores the event. */
  onEvent: (event: WebhookEvent) => void
  readTotals: () => Record<string, number>
}

export function createServer({ readSecret, onEvent, readTotals }: Options): FastifyInstance {
  const app = fastify({ logger: { level: 'warn' } })
  // The signature covers the body exactly as received, so Fastify must not parse it.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.post<{ Body: Buffer }>('/webhooks', async (request, reply) => {
    const secret = readSecret()
    if (!secret) return reply.code(503).send({ message: 'The receiver starts' })
    onEvent(await unwrapWebhook(request.body, request.headers, secret))
    // Rapport waits ten seconds for a response, so the work is done afterwards.
    return reply.code(204).send()
  })

  app.get('/', readTotals)

  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof WebhookSignatureError) return reply.code(400).send({ message: error.message })
    return reply.send(error)
  })
  return app
}
