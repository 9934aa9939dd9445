import {
  listDeliveries,
  readDelivery,
  redeliver,
  redeliverMany,
  testWebhook,
} from '@rapport/core/webhooks/delivery-log.ts'
import { Delivery, DeliveryQuery, RedeliverInput, RedeliverResult } from '@rapport/core/webhooks/deliveries.schema.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { readFromReplica } from '@rapport/core/db/read-replica.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { IdParams, NoBody, NoQuery } from './shapes.ts'

const common = { tags: ['Webhooks'], security: [{ bearer: [] }] }
const params = IdParams('whk')
const deliveryParams = params.extend({ deliveryId: Id('dlv') })

export const deliveryRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/webhooks/:id/deliveries',
    {
      schema: {
        ...common,
        summary: 'List the deliveries of a webhook',
        description: 'Of the last 30 days at least.',
        params,
        querystring: DeliveryQuery,
        response: { 200: PageOf(Delivery) },
      },
    },
    (request) => readFromReplica(request.ctx, (ctx) => listDeliveries(ctx, request.params.id, request.query)),
  )

  app.get(
    '/webhooks/:id/deliveries/:deliveryId',
    {
      schema: {
        ...common,
        summary: 'Read a delivery',
        params: deliveryParams,
        querystring: NoQuery,
        response: { 200: Delivery },
      },
    },
    (request) => readDelivery(request.ctx, request.params.id, request.params.deliveryId),
  )

  app.post(
    '/webhooks/:id/test',
    {
      schema: {
        ...common,
        summary: 'Send a test event',
        description: 'A `webhook.test` event about the webhook itself, to it alone. One that is disabled is a 409.',
        params,
        querystring: NoQuery,
        body: NoBody,
        response: { 202: Delivery },
      },
    },
    async (request, reply) => {
      const delivery = await testWebhook(request.ctx, request.params.id)
      reply.code(202)
      return delivery
    },
  )

  app.post(
    '/webhooks/:id/deliveries/:deliveryId/redeliver',
    {
      schema: {
        ...common,
        summary: 'Deliver again',
        description:
          'A new delivery of the same event, under the same `webhook-id`. One that is still under way, or a disabled webhook, is a 409.',
        params: deliveryParams,
        querystring: NoQuery,
        body: NoBody,
        response: { 202: Delivery },
      },
    },
    async (request, reply) => {
      const { id, deliveryId } = request.params
      const delivery = await redeliver(request.ctx, id, deliveryId)
      reply.code(202)
      return delivery
    },
  )

  app.post(
    '/webhooks/:id/redeliver',
    {
      schema: {
        ...common,
        summary: 'Deliver many again',
        description:
          'Each event once whose deliveries match, unless one has succeeded since or is under way. At most 100,000 at once. `dryRun` only counts.',
        params,
        querystring: NoQuery,
        body: RedeliverInput,
        response: { 202: RedeliverResult },
      },
    },
    async (request, reply) => {
      const result = await redeliverMany(request.ctx, request.params.id, request.body)
      reply.code(202)
      return result
    },
  )
}
