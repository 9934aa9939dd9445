import { listDealMoves } from '@rapport/core/deals/list-deal-moves.ts'
import { listDeals } from '@rapport/core/deals/list-deals.ts'
import { createDeal } from '@rapport/core/deals/create-deal.ts'
import { lockDeal, updateDeal, deleteDeal, readDeal } from '@rapport/core/deals/update-deal.ts'
import { Deal, DealChange, DealInput, DealMove, DealMoveQuery, DealQuery } from '@rapport/core/deals/deals.schema.ts'
import type { DealId } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Deals'], security: [{ bearer: [] }] }
const params = IdParams('dea')
const currentDeal = recordById(Deal, { lock: lockDeal, read: readDeal })
/** Locks also the contact that the deal moves to: two deals that swap their contacts must not wait for each other. */
const movedDeal = {
  schema: Deal,
  async lockAndRead({ ctx, params: { id }, body }: { ctx: Ctx; params: { id: DealId }; body: DealChange }) {
    await lockDeal(ctx, id, body.contactId)
    return readDeal(ctx, id)
  },
}

const updateDescription =
  'A new `pipelineId` moves the deal to the first stage of that pipeline, or to the stage that `stageId` names. WON ' +
  'and LOST set `closedAt`; OPEN clears it. ' +
  'A change of the stage emits `deal.stage_changed` with `previousPipelineId` and `previousStageId`. ' +
  'A change to WON or LOST emits `deal.won` or `deal.lost`. `lostReason` belongs to LOST: any other status clears ' +
  'it. `contactId` gives the deal to another contact, also if its contact was erased, and clears `contactErasedAt` ' +
  'then. Any other change, including reopening, emits `deal.updated`. A no-op update emits no event.'

export const dealRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/deals',
    {
      schema: {
        ...common,
        operationId: 'deals.create',
        summary: 'Create a deal',
        description:
          'A new deal is OPEN. It starts in the first stage of the pipeline, or in the stage that `stageId` names. Emits `deal.created`.',
        body: DealInput,
        response: { 201: Deal },
      },
    },
    idempotent(async (request, reply) => {
      const deal = await createDeal(request.ctx, request.body)
      reply.code(201).header('location', `/deals/${deal.id}`)
      return deal
    }),
  )

  app.get(
    '/deals',
    {
      schema: {
        ...common,
        operationId: 'deals.list',
        summary: 'List deals',
        description:
          'Returns the deals that match all filters. `customField.<key>=<value>` filters by a custom field of deals. With `sort=closedAt`, deals that are not closed come first; with `sort=-closedAt`, they come last.',
        querystring: DealQuery,
        response: { 200: PageOf(Deal) },
      },
    },
    (request) => listDeals(request.ctx, request.query),
  )

  app.get(
    '/deals/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'deals.get',
        summary: 'Retrieve a deal',
        description: 'Returns the deal.',
        params,
        response: { 200: Deal },
      },
    },
    (request) => readDeal(request.ctx, request.params.id),
  )

  app.patch(
    '/deals/:id',
    {
      schema: {
        ...common,
        operationId: 'deals.update',
        summary: 'Update a deal',
        description: updateDescription,
        params,
        body: DealChange,
        response: { 200: Deal },
      },
    },
    ifMatch(movedDeal, (request) => updateDeal(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/deals/:id',
    {
      schema: {
        ...common,
        operationId: 'deals.delete',
        summary: 'Delete a deal',
        description: 'Deletes the deal and its activity. Emits `deal.deleted`.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentDeal, async (request, reply) => {
      await deleteDeal(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/deals/:id/activity',
    {
      schema: {
        ...common,
        operationId: 'deals.listActivity',
        summary: 'List the activity of a deal',
        description:
          'Returns each change of stage or status with the user or API key that made it, newest first. Entries are kept until the deal is deleted.',
        params,
        querystring: DealMoveQuery,
        response: { 200: PageOf(DealMove) },
      },
    },
    (request) => listDealMoves(request.ctx, request.params.id, request.query),
  )
}
