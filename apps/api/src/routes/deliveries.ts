import { listDeliveries, readDelivery, redeliver, redeliverMany } from '@rapport/core/webhooks/delivery-log.ts'
import { sendTestEvent } from '@rapport/core/operations/webhooks/event-types.ts'
import {
  Delivery,
  DeliveryQuery,
  RedeliverInput,
  RedeliverResult,
  WebhookTestInput,
} from '@rapport/core/webhooks/deliveries.schema.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { idempotent } from '../http/handlers/idempotency.ts'
import { IdParams, EmptyBody } from './shapes.ts'

const common = { tags: ['Webhooks'], security: [{ bearer: [] }] }
const params = IdParams('whk')
const deliveryParams = params.extend({ deliveryId: Id('dlv') })

export const deliveryRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/webhooks/:id/deliveries',
    {
      schema: {
        ...common,
        operationId: 'webhooks.listDeliveries',
        summary: 'List the deliveries of a webhook',
        description: 'Deliveries are kept for at least 30 days, unless the operator has set another time.',
        params,
        querystring: DeliveryQuery,
        response: { 200: PageOf(Delivery) },
      },
    },
    (request) => listDeliveries(request.ctx, request.params.id, request.query),
  )

  app.get(
    '/webhooks/:id/deliveries/:deliveryId',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'webhooks.getDelivery',
        summary: 'Retrieve a delivery',
        description: 'Returns one delivery with the response of the receiver.',
        params: deliveryParams,
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
        operationId: 'webhooks.test',
        summary: 'Send a test event',
        description:
          'Sends a `webhook.test` event, or an example of another type, to this webhook only, also if it does not subscribe to the type. The event is in the feed too. Returns 409 if the webhook is disabled.',
        params,
        body: WebhookTestInput,
        response: { 202: Delivery },
      },
    },
    idempotent(async (request, reply) => {
      const delivery = await sendTestEvent(request.ctx, request.params.id, request.body)
      reply.code(202)
      return delivery
    }),
  )

  app.post(
    '/webhooks/:id/deliveries/:deliveryId/redeliver',
    {
      schema: {
        ...common,
        operationId: 'webhooks.redeliverOne',
        summary: 'Redeliver an event',
        description:
          'Creates a new delivery of the same event with the same `webhook-id`. Returns 409 if the delivery is still PENDING or the webhook is disabled.',
        params: deliveryParams,
        body: EmptyBody,
        response: { 202: Delivery },
      },
    },
    idempotent(async (request, reply) => {
      const { id, deliveryId } = request.params
      const delivery = await redeliver(request.ctx, id, deliveryId)
      reply.code(202)
      return delivery
    }),
  )

  app.post(
    '/webhooks/:id/redeliver',
    {
      schema: {
        ...common,
        operationId: 'webhooks.redeliver',
        summary: 'Redeliver many events',
        description:
          'Creates one new delivery for each event with a matching delivery, unless a later delivery of the event has SUCCEEDED or is PENDING. Without a body, the FAILED and INTERRUPTED deliveries of the last 24 hours match. Returns 400 if more than 100,000 events match. With `dryRun`, events are only counted.',
        params,
        body: RedeliverInput,
        response: { 202: RedeliverResult },
      },
    },
    idempotent(async (request, reply) => {
      const result = await redeliverMany(request.ctx, request.params.id, request.body)
      reply.code(202)
      return result
    }),
  )
}
