import { PageOf } from '@rapport/core/paging.ts'
import { createWebhook, listWebhooks, readWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { CreatedWebhook, Webhook, WebhookInput, WebhookQuery } from '@rapport/core/webhooks/webhooks.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Webhooks'], security: [{ bearer: [] }] }

export const webhookRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/webhooks',
    {
      schema: {
        ...common,
        summary: 'Create a webhook',
        description:
          'Each event is delivered in one attempt, signed as Standard Webhooks with `secret`, which is in this answer alone.',
        querystring: NoQuery,
        body: WebhookInput,
        response: { 201: CreatedWebhook },
      },
    },
    async (request, reply) => {
      const webhook = await createWebhook(request.ctx, request.body)
      reply.code(201).header('location', `/webhooks/${webhook.id}`)
      return webhook
    },
  )

  app.get(
    '/webhooks',
    { schema: { ...common, summary: 'List webhooks', querystring: WebhookQuery, response: { 200: PageOf(Webhook) } } },
    (request) => listWebhooks(request.ctx, request.query),
  )

  app.get(
    '/webhooks/:id',
    {
      schema: {
        ...common,
        summary: 'Read a webhook',
        params: IdParams('whk'),
        querystring: NoQuery,
        response: { 200: Webhook },
      },
    },
    (request) => readWebhook(request.ctx, request.params.id),
  )
}
