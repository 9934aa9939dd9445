import { createList, listLists, readList } from '@rapport/core/lists/lists.ts'
import { List, ListInput, ListQuery, SubscribeInput } from '@rapport/core/lists/lists.schema.ts'
import { subscribe } from '@rapport/core/lists/subscriptions.ts'
import { PageOf } from '@rapport/core/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Lists'], security: [{ bearer: [] }] }

export const listRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/lists',
    {
      schema: {
        ...common,
        summary: 'Create a list',
        querystring: NoQuery,
        body: ListInput,
        response: { 201: List },
      },
    },
    async (request, reply) => {
      const list = await createList(request.ctx, request.body)
      reply.code(201).header('location', `/lists/${list.id}`)
      return list
    },
  )

  app.get(
    '/lists',
    { schema: { ...common, summary: 'List the lists', querystring: ListQuery, response: { 200: PageOf(List) } } },
    (request) => listLists(request.ctx, request.query),
  )

  app.get(
    '/lists/:id',
    {
      schema: {
        ...common,
        summary: 'Read a list',
        params: IdParams('lst'),
        querystring: NoQuery,
        response: { 200: List },
      },
    },
    (request) => readList(request.ctx, request.params.id),
  )
}

/** What a newsletter sign-up on any site calls, without a key. */
export const publicListRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/public/lists/:id/subscribe',
    {
      config: { rateLimit: { max: 20 } },
      bodyLimit: 65_536,
      schema: {
        tags: ['Lists'],
        summary: 'Subscribe to a list',
        description:
          'The same answer whether the address is known, unknown, pending or confirmed. Mails a confirmation link, at most one in ten minutes for each address and list.',
        params: IdParams('lst'),
        querystring: NoQuery,
        body: SubscribeInput,
        response: { 202: z.object({ success: z.literal(true) }) },
      },
    },
    async (request, reply) => {
      await subscribe(request.baseCtx, request.params.id, request.body)
      reply.code(202)
      return { success: true as const }
    },
  )
}
