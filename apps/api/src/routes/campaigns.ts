import {
  deleteCampaign,
  listCampaigns,
  lockCampaign,
  readCampaign,
  storeCampaign,
  storeCampaignChange,
} from '@rapport/core/campaigns/campaigns.ts'
import {
  Campaign,
  CampaignChange,
  CampaignInput,
  CampaignQuery,
  CampaignSummary,
} from '@rapport/core/campaigns/campaigns.schema.ts'
import { checkTemplates } from '@rapport/core/rendering/check-templates.ts'
import type { CampaignId } from '@rapport/core/kernel/ids.ts'
import { lockQuotas } from '@rapport/core/quotas/require-quota.ts'
import { listTemplateVariables } from '@rapport/core/rendering/list-template-variables.ts'
import { TemplateVariables } from '@rapport/core/rendering/template-variables.schema.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { entityTagOf } from '../http/conditional-requests/entity-tags.ts'
import {
  commitIfMatch,
  type CurrentRecord,
  ifMatch,
  ifMatchAfter,
  recordById,
} from '../http/conditional-requests/if-match.ts'
import { commitOnce, idempotentAfter } from '../http/handlers/idempotency.ts'
import { Empty, IdParams, largeBodyLimit } from './shapes.ts'
const common = { tags: ['Campaigns'], security: [{ bearer: [] }] }
const params = IdParams('cmp')
const currentCampaign = recordById(Campaign, { lock: lockCampaign, read: readCampaign })
/** The quotas before the campaign, as its sending locks both. */
const changedCampaign: CurrentRecord<{ ctx: Ctx; body: CampaignChange; params: { id: CampaignId } }> = {
  schema: Campaign,
  async lockAndRead({ ctx, body, params: { id } }) {
    if (body.html || body.text) await lockQuotas(ctx)
    return currentCampaign.lockAndRead({ ctx, params: { id } })
  },
}

const createDescription =
  'Creates a DRAFT for one list. Without `html` and `text`, it gets a plain template. Templates are written in ' +
  'Liquid. A syntax error, an unknown variable, an unknown filter or a custom field that does not exist returns 400 ' +
  'with line and column; see `GET /template-variables`. Also returns 400 if a template has more than 5,000 tags and ' +
  'outputs or more than 5,000 filters, or takes too long to parse.'

export const campaignRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/campaigns',
    {
      bodyLimit: largeBodyLimit,
      schema: {
        ...common,
        operationId: 'campaigns.create',
        summary: 'Create a campaign',
        description: createDescription,
        body: CampaignInput,
        response: { 201: Campaign },
      },
    },
    idempotentAfter(async (request, reply) => {
      await checkTemplates(request.ctx, request.body)
      return commitOnce(request, reply, async () => {
        const campaign = await storeCampaign(request.ctx, request.body)
        reply.code(201).header('location', `/campaigns/${campaign.id}`)
        return campaign
      })
    }),
  )

  app.get(
    '/campaigns',
    {
      schema: {
        ...common,
        operationId: 'campaigns.list',
        summary: 'List campaigns',
        description: 'Returns the campaigns of the workspace, without `html` and `text`.',
        querystring: CampaignQuery,
        response: { 200: PageOf(CampaignSummary) },
      },
    },
    (request) => listCampaigns(request.ctx, request.query),
  )

  app.get(
    '/campaigns/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'campaigns.get',
        summary: 'Retrieve a campaign',
        description: 'Returns the campaign with its templates.',
        params,
        response: { 200: Campaign },
      },
    },
    (request) => readCampaign(request.ctx, request.params.id),
  )

  app.patch(
    '/campaigns/:id',
    {
      config: { errorStatuses: [409] },
      bodyLimit: largeBodyLimit,
      schema: {
        ...common,
        operationId: 'campaigns.update',
        summary: 'Update a campaign',
        description:
          'Only a DRAFT can be updated. Any other status returns 409, unless `webVersion` alone is given: the page of a sent email can be switched off. Templates are checked as when a campaign is created.',
        params,
        body: CampaignChange,
        response: { 204: Empty },
      },
    },
    ifMatchAfter(currentCampaign, async (request, reply) => {
      const { params, body } = request
      await checkTemplates(request.ctx, body)
      const work = () => storeCampaignChange(request.ctx, params.id, body)
      const campaign = await commitIfMatch(request, reply, { record: changedCampaign, work })
      reply.code(204).header('etag', entityTagOf(Campaign, campaign))
      return null
    }),
  )

  app.delete(
    '/campaigns/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'campaigns.delete',
        summary: 'Delete a campaign',
        description:
          'Only a DRAFT can be deleted. Any other status returns 409, because the campaign is the record of who received the email.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentCampaign, async (request, reply) => {
      await deleteCampaign(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/template-variables',
    {
      schema: {
        ...common,
        operationId: 'templateVariables.list',
        summary: 'List the variables and filters of templates',
        description:
          'Returns every variable, the custom fields of the workspace among them, and every filter that a campaign template can use. The response is not paged.',
        response: { 200: TemplateVariables },
      },
    },
    (request) => listTemplateVariables(request.ctx),
  )
}
