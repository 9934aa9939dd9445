import {
  CountedContactPage,
  FilterPreview,
  SegmentContactQuery,
} from '@rapport/core/contacts/listing/contact-query.schema.ts'
import { listContacts } from '@rapport/core/contacts/listing/list-contacts.ts'
import { previewFilter } from '@rapport/core/contacts/listing/preview-filter.ts'
import { deleteSegment } from '@rapport/core/operations/contacts/delete-segment.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import {
  PreviewInput,
  Segment,
  SegmentChange,
  SegmentInput,
  SegmentQuery,
} from '@rapport/core/segments/segments.schema.ts'
import {
  lockSegmentForUpdate,
  createSegment,
  listSegments,
  readSegment,
  updateSegment,
} from '@rapport/core/segments/segments.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Segments'], security: [{ bearer: [] }] }
const params = IdParams('seg')
const currentSegment = recordById(Segment, { lock: lockSegmentForUpdate, read: readSegment })

export const segmentRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/segments',
    {
      schema: {
        ...common,
        operationId: 'segments.create',
        summary: 'Create a segment',
        description:
          'Saves a filter. Returns 400 with the path of each part that names an unknown field, list, campaign or pipeline, or that does not fit the type of its field.',
        body: SegmentInput,
        response: { 201: Segment },
      },
    },
    idempotent(async (request, reply) => {
      const segment = await createSegment(request.ctx, request.body)
      reply.code(201).header('location', `/segments/${segment.id}`)
      return segment
    }),
  )

  app.get(
    '/segments',
    {
      schema: {
        ...common,
        operationId: 'segments.list',
        summary: 'List segments',
        description: 'Returns the segments of the workspace. Their contacts are not counted: see `segments.preview`.',
        querystring: SegmentQuery,
        response: { 200: PageOf(Segment) },
      },
    },
    (request) => listSegments(request.ctx, request.query),
  )

  app.post(
    '/segments/preview',
    {
      config: { role: 'VIEWER', worksWhenSuspended: true, isExpensive: true },
      schema: {
        ...common,
        operationId: 'segments.preview',
        summary: 'Preview a filter',
        description:
          'Counts the contacts that match a filter, and returns some of them. Saves nothing. Returns 503 if the filter takes longer than five seconds.',
        body: PreviewInput,
        response: { 200: FilterPreview },
      },
    },
    idempotent((request) => previewFilter(request.ctx, request.body.filter)),
  )

  app.get(
    '/segments/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'segments.get',
        summary: 'Retrieve a segment',
        description: 'Returns the segment with its filter.',
        params,
        response: { 200: Segment },
      },
    },
    (request) => readSegment(request.ctx, request.params.id),
  )

  app.patch(
    '/segments/:id',
    {
      schema: {
        ...common,
        operationId: 'segments.update',
        summary: 'Update a segment',
        description: 'A new filter does not affect campaigns that were sent: their recipients are fixed.',
        params,
        body: SegmentChange,
        response: { 200: Segment },
      },
    },
    ifMatch(currentSegment, (request) => updateSegment(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/segments/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'segments.delete',
        summary: 'Delete a segment',
        description:
          'Returns 409 while a campaign that is a DRAFT, SENDING or PAUSED has the segment. Ended campaigns lose it.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentSegment, async (request, reply) => {
      await deleteSegment(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/segments/:id/contacts',
    {
      config: { isExpensive: true, errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'segments.listContacts',
        summary: 'List the contacts of a segment',
        description:
          'Returns the contacts that match the segment now. Returns 409 if something that the segment refers to was deleted, and 503 if it takes longer than five seconds.',
        params,
        querystring: SegmentContactQuery,
        response: { 200: CountedContactPage },
      },
    },
    async (request) => {
      await readSegment(request.ctx, request.params.id)
      return listContacts(request.ctx, { ...request.query, segmentId: request.params.id, customFields: {} })
    },
  )
}
