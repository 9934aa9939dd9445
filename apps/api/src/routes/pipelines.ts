import { PageOf } from '@rapport/core/request/paging.ts'
import { summarizePipeline } from '@rapport/core/pipelines/pipeline-summary.ts'
import {
  lockPipeline,
  updatePipeline,
  createPipeline,
  deletePipeline,
  listPipelines,
  readPipeline,
} from '@rapport/core/pipelines/pipelines.ts'
import {
  Pipeline,
  PipelineChange,
  PipelineInput,
  PipelineQuery,
  PipelineSummary,
  PipelineSummaryQuery,
} from '@rapport/core/pipelines/pipelines.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Pipelines'], security: [{ bearer: [] }] }
const params = IdParams('pip')
const currentPipeline = recordById(Pipeline, { lock: lockPipeline, read: readPipeline })

export const pipelineRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/pipelines',
    {
      schema: {
        ...common,
        operationId: 'pipelines.create',
        summary: 'Create a pipeline',
        description: 'Creates a pipeline with its stages, in the order in which deals pass through them.',
        body: PipelineInput,
        response: { 201: Pipeline },
      },
    },
    idempotent(async (request, reply) => {
      const pipeline = await createPipeline(request.ctx, request.body)
      reply.code(201).header('location', `/pipelines/${pipeline.id}`)
      return pipeline
    }),
  )

  app.get(
    '/pipelines',
    {
      schema: {
        ...common,
        operationId: 'pipelines.list',
        summary: 'List pipelines',
        description: 'Returns each pipeline with its stages in order.',
        querystring: PipelineQuery,
        response: { 200: PageOf(Pipeline) },
      },
    },
    (request) => listPipelines(request.ctx, request.query),
  )

  app.get(
    '/pipelines/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'pipelines.get',
        summary: 'Retrieve a pipeline',
        description: 'Returns the pipeline with its stages in their order.',
        params,
        response: { 200: Pipeline },
      },
    },
    (request) => readPipeline(request.ctx, request.params.id),
  )

  app.patch(
    '/pipelines/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'pipelines.update',
        summary: 'Update a pipeline',
        description:
          '`stages` replaces all stages and sets their order. A stage with an `id` is kept and updated with the fields that are present, a stage without an `id` is created, and all other stages are removed. Removing a stage that has deals returns 409 with `dealCount`.',
        params,
        body: PipelineChange,
        response: { 200: Pipeline },
      },
    },
    ifMatch(currentPipeline, (request) => updatePipeline(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/pipelines/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'pipelines.delete',
        summary: 'Delete a pipeline',
        description: 'Returns 409 with `dealCount` if the pipeline has deals.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentPipeline, async (request, reply) => {
      await deletePipeline(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/pipelines/:id/summary',
    {
      config: { isExpensive: true },
      schema: {
        ...common,
        operationId: 'pipelines.getSummary',
        summary: 'Retrieve the summary of a pipeline',
        description:
          'Returns the number and value of the OPEN deals, per stage and in total, and those of the WON and LOST deals. `closedAfter` and `closedBefore` select WON and LOST deals, `expectedCloseAfter` and `expectedCloseBefore` OPEN deals, `ownerId` and `companyId` both.',
        params,
        querystring: PipelineSummaryQuery,
        response: { 200: PipelineSummary },
      },
    },
    (request) => summarizePipeline(request.ctx, request.params.id, request.query),
  )
}
