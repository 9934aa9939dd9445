import { lockWebhook } from '@rapport/core/webhooks/health/webhook-health.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { rotateSecret } from '@rapport/core/webhooks/rotate-secret.ts'
import { updateWebhook, createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { deleteWebhook, listWebhooks, readWebhook } from '@rapport/core/webhooks/webhooks.ts'
import {
  CreatedWebhook,
  Webhook,
  WebhookChange,
  WebhookInput,
  WebhookQuery,
} from '@rapport/core/webhooks/webhooks.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams, EmptyBody } from './shapes.ts'

const common = { tags: ['Webhooks'], security: [{ bearer: [] }] }
const params = IdParams('whk')
const currentWebhook = recordById(Webhook, { lock: lockWebhook, read: readWebhook })

export const webhookRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/webhooks',
    {
      config: { etag: Webhook },
      schema: {
        ...common,
        operationId: 'webhooks.create',
        summary: 'Create a webhook',
        description:
          'Each event is delivered in one attempt, signed with `secret` as defined by Standard Webhooks. `secret` is returned in this response only. `filter` limits which events of the types are delivered. A workspace has at most 50 webhooks by default (`QUOTA_WEBHOOKS`).',
        body: WebhookInput,
        response: { 201: CreatedWebhook },
      },
    },
    idempotent(async (request, reply) => {
      const webhook = await createWebhook(request.ctx, request.body)
      reply.code(201).header('location', `/webhooks/${webhook.id}`)
      return webhook
    }),
  )

  app.get(
    '/webhooks',
    {
      schema: {
        ...common,
        operationId: 'webhooks.list',
        summary: 'List webhooks',
        description: 'Returns the webhooks of the workspace, without their secrets.',
        querystring: WebhookQuery,
        response: { 200: PageOf(Webhook) },
      },
    },
    (request) => listWebhooks(request.ctx, request.query),
  )

  app.get(
    '/webhooks/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'webhooks.get',
        summary: 'Retrieve a webhook',
        description: 'Returns the webhook and how its deliveries have been going, without its secret.',
        params,
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
        operationId: 'webhooks.update',
        summary: 'Update a webhook',
        description:
          'Updates the URL, the event types, the filter or `enabled`. When a webhook is disabled, its pending deliveries fail; requests that were already taken may still arrive within ten seconds.',
        params,
        body: WebhookChange,
        response: { 200: Webhook },
      },
    },
    ifMatch(currentWebhook, (request) => updateWebhook(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/webhooks/:id',
    {
      schema: {
        ...common,
        operationId: 'webhooks.delete',
        summary: 'Delete a webhook',
        description:
          'Deletes the webhook and its deliveries. Requests that were already taken may still arrive within ten seconds.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentWebhook, async (request, reply) => {
      await deleteWebhook(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.post(
    '/webhooks/:id/rotate-secret',
    {
      schema: {
        ...common,
        operationId: 'webhooks.rotateSecret',
        summary: 'Rotate the secret of a webhook',
        description:
          'Returns the new `secret`, in this response only. For 24 hours, deliveries are signed with both secrets, so that the receiver can switch without downtime. More than 5 rotations in 24 hours return 409.',
        params,
        body: EmptyBody,
        response: { 200: CreatedWebhook },
      },
    },
    idempotent((request) => rotateSecret(request.ctx, request.params.id)),
  )
}
