import { PageOf } from '@rapport/core/paging.ts'
import { listPipelines } from '@rapport/core/pipelines/pipelines.ts'
import { Pipeline, PipelineQuery } from '@rapport/core/pipelines/pipelines.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'

export const pipelineRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/pipelines',
    {
      schema: {
        tags: ['Pipelines'],
        security: [{ bearer: [] }],
        summary: 'List pipelines',
        description: 'Each with its stages in order.',
        querystring: PipelineQuery,
        response: { 200: PageOf(Pipeline) },
      },
    },
    (request) => listPipelines(request.ctx, request.query),
  )
}
