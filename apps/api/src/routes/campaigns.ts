import { previewCampaign, sendTestMail } from '@rapport/core/campaigns/campaign-mail.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { readAudience, readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign, retryCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import {
  updateCampaign,
  createCampaign,
  deleteCampaign,
  listCampaigns,
  readCampaign,
} from '@rapport/core/campaigns/campaigns.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import {
  Audience,
  Campaign,
  CampaignChange,
  CampaignInput,
  CampaignQuery,
  CampaignRecipient,
  CampaignStats,
  Preview,
  PreviewInput,
  RecipientQuery,
  RetryInput,
  SendResult,
  SendTestInput,
} from '@rapport/core/campaigns/campaigns.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { readFromReplica } from '@rapport/core/db/read-replica.ts'
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
          'A DRAFT for one list. With neither `html` nor `text` it starts from a plain template. Templates are Liquid; a broken one is a 400 with line and column. So is one with more than 5,000 tags and outputs or 5,000 filters, or that takes too long to read.',
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
      config: { errorStatuses: [409] },
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
      await updateCampaign(request.ctx, request.params.id, request.body)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/campaigns/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        summary: 'Delete a campaign',
        description: 'Only a DRAFT; anything else is a 409, as it is the record of what was sent to whom.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteCampaign(request.ctx, request.params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Sending, and what becomes of it. */
export const campaignSendingRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/campaigns/:id/audience',
    {
      schema: {
        ...common,
        summary: 'Whom a campaign would reach',
        params: IdParams('cmp'),
        querystring: NoQuery,
        response: { 200: Audience },
      },
    },
    (request) => readAudience(request.ctx, request.params.id),
  )

  app.post(
    '/campaigns/:id/preview',
    {
      schema: {
        ...common,
        summary: 'Preview a campaign',
        description:
          'As a contact would get it, or an invented one. Nothing is sent, and nothing in it is tracked. A template that takes too long is a 400.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        body: PreviewInput,
        response: { 200: Preview },
      },
    },
    (request) => previewCampaign(request.ctx, request.params.id, request.body),
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
        description:
          'One mail, its subject marked `[Test]`, whatever the status of the campaign. A template that takes too long is a 400.',
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

  app.post(
    '/campaigns/:id/retry',
    {
      schema: {
        ...common,
        summary: 'Send again to those it failed for',
        description:
          'To those who FAILED, and only with `includeInterrupted` to those who are INTERRUPTED, as they may get it twice. `queued` says how many that are.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        body: RetryInput,
        response: { 202: SendResult },
      },
    },
    async (request, reply) => {
      const result = await retryCampaign(request.ctx, request.params.id, request.body)
      reply.code(202)
      return result
    },
  )

  const transitions = [
    ['pause', 'Pause a campaign', 'Stops within seconds; whose turn has not come stays pending.', pauseCampaign],
    ['resume', 'Resume a campaign', 'Goes on where it was paused.', resumeCampaign],
    [
      'cancel',
      'Cancel a campaign',
      'For good. Whose turn has not come becomes SKIPPED; `completedAt` says when all have.',
      cancelCampaign,
    ],
  ] as const
  for (const [step, summary, description, apply] of transitions) {
    app.post(
      `/campaigns/:id/${step}`,
      {
        schema: {
          ...common,
          summary,
          description: `${description} To ask twice is harmless; in any other status it is a 409.`,
          params: IdParams('cmp'),
          querystring: NoQuery,
          body: NoBody,
          response: { 200: Campaign },
        },
      },
      (request) => apply(request.ctx, request.params.id),
    )
  }

  app.get(
    '/campaigns/:id/stats',
    {
      schema: {
        ...common,
        summary: 'Count what became of a campaign',
        description: 'Exact at every instant: queued = sent + failed + skipped + interrupted + pending.',
        params: IdParams('cmp'),
        querystring: NoQuery,
        response: { 200: CampaignStats },
      },
    },
    (request) => readFromReplica(request.ctx, (ctx) => readStats(ctx, request.params.id)),
  )

  app.get(
    '/campaigns/:id/recipients',
    {
      schema: {
        ...common,
        summary: "List a campaign's recipients",
        description: 'Did she get it, and if not, why.',
        params: IdParams('cmp'),
        querystring: RecipientQuery,
        response: { 200: PageOf(CampaignRecipient) },
      },
    },
    (request) => readFromReplica(request.ctx, (ctx) => listRecipients(ctx, request.params.id, request.query)),
  )
}
