import { PageOf } from '@rapport/core/request/paging.ts'
import { rotateSecret } from '@rapport/core/webhooks/rotate-secret.ts'
import {
  updateWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
} from '@rapport/core/webhooks/webhooks.ts'
import {
  CreatedWebhook,
  Webhook,
  WebhookChange,
  WebhookInput,
  WebhookQuery,
} from '@rapport/core/webhooks/webhooks.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { Empty, IdParams, NoBody, NoQuery } from './shapes.ts'

const common = { tags: ['Webhooks'], security: [{ bearer: [] }] }
const params = IdParams('whk')

export const webhookRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/webhooks',
    {
      schema: {
        ...common,
        summary: 'Create a webhook',
        description:
          'Each event is delivered in one attempt, signed as Standard Webhooks with `secret`, which is in this answer alone. A workspace has at most 50.',
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
        params,
        querystring: NoQuery,
        response: { 200: Webhook },
      },
    },
    (request) => readWebhook(request.ctx, request.params.id),
  )

  app.patch(
    '/webhooks/:id',
    {
      schema: {
        ...common,
        summary: 'Change a webhook',
        description:
          'Its address, event types, or whether it is `enabled`. Disabled, it gets nothing more from this answer on, and what waits has failed.',
        params,
        querystring: NoQuery,
        body: WebhookChange,
        response: { 200: Webhook },
      },
    },
    (request) => updateWebhook(request.ctx, request.params.id, request.body),
  )

  app.delete(
    '/webhooks/:id',
    {
      schema: {
        ...common,
        summary: 'Delete a webhook',
        description: 'With its deliveries. It gets nothing more from this answer on.',
        params,
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteWebhook(request.ctx, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/webhooks/:id/rotate-secret',
    {
      schema: {
        ...common,
        summary: 'Rotate the secret of a webhook',
        description:
          'Answers the new `secret`, which is in this answer alone. For 24 hours each request carries the signatures of both, so that a receiver can change at its leisure.',
        params,
        querystring: NoQuery,
        body: NoBody,
        response: { 200: CreatedWebhook },
      },
    },
    (request) => rotateSecret(request.ctx, request.params.id),
  )
}
