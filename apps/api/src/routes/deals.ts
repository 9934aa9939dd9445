import { listDealMoves } from '@rapport/core/deals/list-deal-moves.ts'
import { listDeals } from '@rapport/core/deals/list-deals.ts'
import { createDeal } from '@rapport/core/deals/create-deal.ts'
import { updateDeal, deleteDeal, readDeal } from '@rapport/core/deals/update-deal.ts'
import { Deal, DealChange, DealInput, DealMove, DealMoveQuery, DealQuery } from '@rapport/core/deals/deals.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { readFromReplica } from '@rapport/core/db/read-replica.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { Empty, IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Deals'], security: [{ bearer: [] }] }
const params = IdParams('dea')

export const dealRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/deals',
    {
      schema: {
        ...common,
        summary: 'Create a deal',
        description:
          'OPEN, and in the first stage of the pipeline unless `stageId` names another. Tells `deal.created`.',
        querystring: NoQuery,
        body: DealInput,
        response: { 201: Deal },
      },
    },
    async (request, reply) => {
      const deal = await createDeal(request.ctx, request.body)
      reply.code(201).header('location', `/deals/${deal.id}`)
      return deal
    },
  )

  app.get(
    '/deals',
    {
      schema: {
        ...common,
        summary: 'List deals',
        description: 'All filters that are given must hold. By `closedAt`, what is not closed comes before all others.',
        querystring: DealQuery,
        response: { 200: PageOf(Deal) },
      },
    },
    (request) => readFromReplica(request.ctx, (ctx) => listDeals(ctx, request.query)),
  )

  app.get(
    '/deals/:id',
    {
      schema: { ...common, summary: 'Read a deal', params, querystring: NoQuery, response: { 200: Deal } },
    },
    (request) => readDeal(request.ctx, request.params.id),
  )

  app.patch(
    '/deals/:id',
    {
      schema: {
        ...common,
        summary: 'Change a deal',
        description:
          'In another pipeline it begins in the first stage unless `stageId` names one. WON and LOST set `closedAt`, OPEN clears it. ' +
          'Each thing that changes is told once: another stage by `deal.stage_changed` (with `previousPipelineId` and `previousStageId`), ' +
          'a win or a loss by `deal.won` or `deal.lost`, all else, reopening too, by `deal.updated`. What changes nothing tells nothing.',
        params,
        querystring: NoQuery,
        body: DealChange,
        response: { 200: Deal },
      },
    },
    (request) => updateDeal(request.ctx, request.params.id, request.body),
  )

  app.delete(
    '/deals/:id',
    {
      schema: {
        ...common,
        summary: 'Delete a deal',
        description: 'With its history. Tells `deal.deleted`.',
        params,
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteDeal(request.ctx, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/deals/:id/activity',
    {
      schema: {
        ...common,
        summary: 'Where a deal has been',
        description: 'Each move to another stage or status, newest first, with who made it. Kept as long as the deal.',
        params,
        querystring: DealMoveQuery,
        response: { 200: PageOf(DealMove) },
      },
    },
    (request) => listDealMoves(request.ctx, request.params.id, request.query),
  )
}
