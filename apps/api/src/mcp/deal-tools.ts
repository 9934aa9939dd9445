import { Deal, DealChange, DealParameters } from '@rapport/core/deals/deals.schema.ts'
import { listDeals } from '@rapport/core/deals/list-deals.ts'
import { updateDeal } from '@rapport/core/deals/update-deal.ts'
import { dealStatuses } from '@rapport/core/db/schema/index.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { listPipelines } from '@rapport/core/pipelines/pipelines.ts'
import { Pipeline } from '@rapport/core/pipelines/pipelines.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const filters = DealParameters.shape

const allPipelines = defineTool({
  name: 'list_pipelines',
  operations: ['pipelines.list'],
  title: 'List pipelines',
  description: 'Returns the pipelines with the ids and names of their stages.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject(pageInput),
  output: PageOf(Pipeline),
  run: (ctx, page) => listPipelines(ctx, { ...page, ...newestFirst }),
})

const deals = defineTool({
  name: 'list_deals',
  operations: ['deals.list'],
  title: 'List deals',
  description: 'Returns the deals that match all filters, newest first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({
    status: z.array(z.enum(dealStatuses)).max(3).optional().describe('Only deals with one of these statuses.'),
    pipelineId: filters.pipelineId,
    stageId: filters.stageId,
    contactId: filters.contactId,
    companyId: filters.companyId,
    ownerId: filters.ownerId,
    expectedCloseAfter: filters.expectedCloseAfter,
    expectedCloseBefore: filters.expectedCloseBefore,
    search: filters.search,
    ...pageInput,
  }),
  output: PageOf(Deal),
  run: (ctx, input) => listDeals(ctx, { ...input, ...newestFirst, customFields: {} }),
})

const isGiven = (value: unknown) => value !== undefined
const position = DealChange.shape
const moveDeal = defineTool({
  name: 'move_deal',
  operations: ['deals.update'],
  title: 'Move a deal',
  description:
    'Moves a deal to another stage or pipeline, or marks it as won, lost or open again. `list_pipelines` has the ids of the stages. Idempotent.',
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z
    .strictObject({
      dealId: Id('dea'),
      stageId: position.stageId.describe('The id of the new stage.'),
      pipelineId: position.pipelineId.describe(
        'The id of the new pipeline. Without `stageId`, the deal moves to its first stage.',
      ),
      status: position.status,
      lostReason: position.lostReason,
    })
    .refine((input) => Object.values(input).filter(isGiven).length > 1, {
      path: ['stageId'],
      error: 'stageId, pipelineId, status or lostReason is required',
    }),
  output: z.object({ deal: Deal }),
  run: async (ctx, { dealId, ...change }) => ({ deal: await updateDeal(ctx, dealId, change) }),
})

export const dealTools = [allPipelines, deals, moveDeal]
