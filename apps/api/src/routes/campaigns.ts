import {
  changeCampaign,
  createCampaign,
  listCampaigns,
  readCampaign,
  sendCampaign,
  sendTestMail,
} from '@rapport/core/campaigns/campaigns.ts'
import {
  Campaign,
  CampaignChange,
  CampaignInput,
  CampaignQuery,
  SendResult,
  SendTestInput,
} from '@rapport/core/campaigns/campaigns.schema.ts'
import { PageOf } from '@rapport/core/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { Empty, IdParams, NoBody, NoQuery } from './shapes.ts'

const common = { tags: ['Campaigns'], security: [{ bearer: [] }] }
/** A template may be 1 MiB, and JSON may need more bytes for the same text. */
const templateBodyLimit = 4 * 1_048_576

export const campaignRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/campaigns',
    {
      bodyLimit: templateBodyLimit,
      schema: {
        ...common,
        summary: 'Create a campaign',
        description:
          'A DRAFT for one list. With neither `html` nor `text` it starts from a plain template. Templates are Liquid; a broken one is a 400 with line and column.',
        querystring: NoQuery,
        body: CampaignInput,
        response: { 201: Campaign },
      },
    },
    async (request, reply) => {
      const campaign = await createCampaign(request.ctx, request.body)
      reply.code(201).header('location', `/campaigns/${campaign.id}`)
      return campaign
    },
  )

  app.get(
    '/campaigns',
    {
      schema: { ...common, summary: 'List campaigns', querystring: CampaignQuery, response: { 200: PageOf(Campaign) } },
    },
    (request) => listCampaigns(request.ctx, request.query),
  )

  app.get(
    '/campaigns/:id',
    {
      schema: {
        ...common,
        summary: 'Read a campaign',
        params: IdParams('cmp'),
        querystring: NoQuery,
        response: { 200: Campaign },
      },
    },
    (request) => readCampaign(request.ctx, request.params.id),
  )

  app.patch(
    '/campaigns/:id',
    {
      bodyLimit: templateBodyLimit,
      schema: {
        ...common,
        summary: 'Change a campaign',
        description: 'Only a DRAFT; anything else is a 409.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        body: CampaignChange,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await changeCampaign(request.ctx, request.params.id, request.body)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/campaigns/:id/send',
    {
      schema: {
        ...common,
        summary: 'Send a campaign',
        description:
          'At once, to everyone confirmed on the list at this instant: `queued` is exact. Of two sends one is a 409.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        body: NoBody,
        response: { 202: SendResult },
      },
    },
    async (request, reply) => {
      const result = await sendCampaign(request.ctx, request.params.id)
      reply.code(202)
      return result
    },
  )

  app.post(
    '/campaigns/:id/send-test',
    {
      schema: {
        ...common,
        summary: 'Send a test copy',
        description: 'One mail, its subject marked `[Test]`, whatever the status of the campaign.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        body: SendTestInput,
        response: { 202: SendResult },
      },
    },
    async (request, reply) => {
      const result = await sendTestMail(request.ctx, request.params.id, request.body)
      reply.code(202)
      return result
    },
  )
}
