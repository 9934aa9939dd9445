import { EventQuery } from '@rapport/core/webhooks/deliveries.schema.ts'
import { describeEventTypes, EventTypes } from '@rapport/core/operations/event-types.ts'
import { Event } from '@rapport/core/webhooks/event-feed.schema.ts'
import { listEvents, readEvent } from '@rapport/core/webhooks/event-feed.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Events'], security: [{ bearer: [] }] }

export const eventRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/events',
    {
      schema: {
        ...common,
        summary: 'List events',
        description:
          'What happened in the last 30 days at least. With `after` it reads on in order: whoever was down goes on after the last event they know and misses none, as an event never appears before one that was read.',
        querystring: EventQuery,
        response: { 200: PageOf(Event) },
      },
    },
    (request) => listEvents(request.ctx, request.query),
  )

  app.get(
    '/events/:id',
    {
      schema: {
        ...common,
        summary: 'Read an event',
        params: IdParams('evt'),
        querystring: NoQuery,
        response: { 200: Event },
      },
    },
    (request) => readEvent(request.ctx, request.params.id),
  )

  app.get(
    '/event-types',
    {
      schema: {
        ...common,
        summary: 'List event types',
        description: 'With a JSON Schema of `data` and an example for each.',
        querystring: NoQuery,
        response: { 200: EventTypes },
      },
    },
    () => describeEventTypes(),
  )
}
