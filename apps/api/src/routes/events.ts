import { EventQuery } from '@rapport/core/webhooks/deliveries.schema.ts'
import { DescribedEventType, EventTypeQuery, listEventTypes } from '@rapport/core/operations/webhooks/event-types.ts'
import { Event } from '@rapport/core/webhooks/event-feed.schema.ts'
import { listEvents, readEvent } from '@rapport/core/webhooks/event-feed.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { IdParams } from './shapes.ts'

const common = { tags: ['Events'], security: [{ bearer: [] }] }

export const eventRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/events',
    {
      schema: {
        ...common,
        operationId: 'events.list',
        summary: 'List events',
        description:
          'Events are kept for at least 30 days, unless the operator has set another time. With `after`, events are returned in order: a consumer that was down resumes after the last event that it received. It misses none: no event is ever inserted before one that was already returned.',
        querystring: EventQuery,
        response: { 200: PageOf(Event) },
      },
    },
    (request) => listEvents(request.ctx, request.query),
  )

  app.get(
    '/events/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'events.get',
        summary: 'Retrieve an event',
        description:
          'Returns one event. Events are kept for at least 30 days, unless the operator has set another time.',
        params: IdParams('evt'),
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
        operationId: 'eventTypes.list',
        summary: 'List event types',
        description: 'Returns each event type with a JSON Schema of its `data` and an example.',
        querystring: EventTypeQuery,
        response: { 200: PageOf(DescribedEventType) },
      },
    },
    (request) => listEventTypes(request.ctx, request.query),
  )
}
