import { enqueueTestMail, previewCampaign } from '@rapport/core/campaigns/campaign-mail.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { Audience } from '@rapport/core/campaigns/sending-report/audience.schema.ts'
import { readAudience } from '@rapport/core/campaigns/sending-report/read-audience.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign, retryCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { checkCampaignOnce, sendCheckedCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import {
  Campaign,
  CampaignRecipient,
  Preview,
  PreviewInput,
  RecipientQuery,
  RetryInput,
  Sending,
  SendResult,
  SendTestInput,
} from '@rapport/core/campaigns/campaigns.schema.ts'
import { CampaignStats } from '@rapport/core/campaigns/campaign-stats.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { commitOnce, idempotent, idempotentAfter } from '../http/handlers/idempotency.ts'
import { IdParams, EmptyBody } from './shapes.ts'

const common = { tags: ['Campaigns'], security: [{ bearer: [] }] }
const params = IdParams('cmp')

const sendDescription =
  'Sends the campaign to the subscribers of the list that are confirmed at this instant; `queued` is their exact ' +
  'number. Returns 400 if there are none, or if the operator no longer allows the sender. Returns 409 with issues ' +
  'if a template uses a variable, a filter or a custom field that does not exist (anymore), or if the subject is ' +
  'empty for the example contact of a preview. A recipient whose subject or body is empty becomes FAILED. A ' +
  'campaign is sent only once: a second request returns 409, even if both requests are concurrent.'

const sendTestDescription =
  'Sends one email with `[Test]` in its subject, in any status of the campaign. Its unsubscribe link does nothing. ' +
  'Returns 409 (`opted_out`) if the address has opted out of the list of the campaign, or of all. Returns 400 or 409 ' +
  '(`domain_not_verified`) if the named sender is not allowed, as `send` does. Without one, the test comes from the ' +
  'address of the operator, and needs no verified domain. Returns 400 if a template takes too long to render, or if ' +
  'the subject or the body is empty. By default, an address receives at most five test emails a day, all its forms ' +
  '(upper case, `+tag`) together, and a workspace sends at most 500 test emails and invites a day; more requests ' +
  'return 409 with `retry-after`. If the operator requires a verified email address, only members receive test ' +
  'emails until an owner has verified theirs: other addresses return 403.'

/** The routes that send a campaign and report on it. */
export const campaignSendingRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/campaigns/:id/audience',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'campaigns.getAudience',
        summary: 'Retrieve the audience of a campaign',
        description:
          'Counts the subscribers that would receive the campaign now, and those that would not, by reason. Returns 409 if something that the segment of the campaign refers to was deleted.',
        params,
        response: { 200: Audience },
      },
    },
    (request) => readAudience(request.ctx, request.params.id),
  )

  app.post(
    '/campaigns/:id/preview',
    {
      config: { worksWhenSuspended: true },
      schema: {
        ...common,
        operationId: 'campaigns.preview',
        summary: 'Preview a campaign',
        description:
          'Renders the campaign for a contact, or for an example contact. Sends no email and adds no tracking; the unsubscribe link does nothing. Returns 400 if a template takes too long to render, or if the subject or the body is empty.',
        params,
        body: PreviewInput,
        response: { 200: Preview },
      },
    },
    idempotentAfter(async (request, reply) => {
      const preview = await previewCampaign(request.ctx, request.params.id, request.body)
      return commitOnce(request, reply, () => Promise.resolve(preview))
    }),
  )

  app.post(
    '/campaigns/:id/send',
    {
      schema: {
        ...common,
        operationId: 'campaigns.send',
        summary: 'Send a campaign',
        description: sendDescription,
        params,
        body: EmptyBody,
        response: { 202: Sending },
      },
    },
    idempotentAfter(async (request, reply) => {
      const checked = await checkCampaignOnce(request.ctx, request.params.id)
      return commitOnce(request, reply, async () => {
        const result = await sendCheckedCampaign(request.ctx, checked)
        reply.code(202)
        return result
      })
    }),
  )

  app.post(
    '/campaigns/:id/send-test',
    {
      schema: {
        ...common,
        operationId: 'campaigns.sendTest',
        summary: 'Send a test email',
        description: sendTestDescription,
        params,
        body: SendTestInput,
        response: { 202: SendResult },
      },
    },
    idempotentAfter(async (request, reply) => {
      const { params, body } = request
      await previewCampaign(request.ctx, params.id, body)
      return commitOnce(request, reply, async () => {
        const result = await enqueueTestMail(request.ctx, params.id, body)
        reply.code(202)
        return result
      })
    }),
  )

  app.post(
    '/campaigns/:id/retry',
    {
      schema: {
        ...common,
        operationId: 'campaigns.retry',
        summary: 'Retry failed recipients',
        description:
          'Sends the campaign again to FAILED recipients. INTERRUPTED recipients are included only with `includeInterrupted: true`, because they may receive the email twice. `queued` is the number of recipients.',
        params,
        body: RetryInput,
        response: { 202: SendResult },
      },
    },
    idempotent(async (request, reply) => {
      const result = await retryCampaign(request.ctx, request.params.id, request.body)
      reply.code(202)
      return result
    }),
  )

  const transitions = [
    [
      'pause',
      'Pause a campaign',
      'Stops a SENDING campaign within seconds: each worker still sends the groups that it has claimed, at most 80 emails. The other recipients remain PENDING.',
      pauseCampaign,
    ],
    ['resume', 'Resume a campaign', 'Continues a PAUSED campaign with the PENDING recipients.', resumeCampaign],
    [
      'cancel',
      'Cancel a campaign',
      'Stops a SENDING or PAUSED campaign permanently. PENDING recipients become SKIPPED; `completedAt` is set once no recipient is PENDING.',
      cancelCampaign,
    ],
  ] as const
  for (const [step, summary, description, apply] of transitions) {
    app.post(
      `/campaigns/:id/${step}`,
      {
        schema: {
          ...common,
          operationId: `campaigns.${step}`,
          summary,
          description: `${description} Repeating the request is a no-op. Returns 409 for any other status.`,
          params,
          body: EmptyBody,
          response: { 200: Campaign },
        },
      },
      idempotent((request) => apply(request.ctx, request.params.id)),
    )
  }

  app.get(
    '/campaigns/:id/stats',
    {
      schema: {
        ...common,
        operationId: 'campaigns.getStats',
        summary: 'Retrieve the statistics of a campaign',
        description:
          'Counts the recipients by status. At any time, queued = sent + failed + skipped + interrupted + pending.',
        params,
        response: { 200: CampaignStats },
      },
    },
    (request) => readStats(request.ctx, request.params.id),
  )

  app.get(
    '/campaigns/:id/recipients',
    {
      schema: {
        ...common,
        operationId: 'campaigns.listRecipients',
        summary: 'List the recipients of a campaign',
        description: 'Returns the recipients with the status of their email, and the reason if it was not sent.',
        params,
        querystring: RecipientQuery,
        response: { 200: PageOf(CampaignRecipient) },
      },
    },
    (request) => listRecipients(request.ctx, request.params.id, request.query),
  )
}
