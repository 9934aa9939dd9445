import { sql } from 'drizzle-orm'
import { owningContact } from '../contacts/touch-last-activity.ts'
import { jsonRows } from '../db/json-rows.ts'
import { deals } from '../db/schema/index.ts'
import { insertWithEvents } from '../events/insert-with-events.ts'
import { invalidField, violatedConstraint } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { findStage } from '../pipelines/stages.ts'
import type { Ctx } from '../request/context.ts'
import { dealCreated } from './deal-events.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import type { Deal, DealInput } from './deals.schema.ts'

/**
 * Creates an OPEN deal, in the pipeline's first stage unless the input names one, and emits `deal.created`. Throws
 * `invalid` when the contact, the pipeline or the stage does not exist.
 */
export async function createDeal(ctx: Ctx, input: DealInput): Promise<Deal> {
  const now = new Date()
  const deal: DealRow = {
    workspaceId: ctx.workspaceId,
    id: newId('dea'),
    pipelineId: input.pipelineId,
    stageId: await findStage(ctx, input),
    contactId: input.contactId,
    name: input.name,
    valueCents: input.valueCents,
    status: 'OPEN',
    closedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  try {
    if (await insertDeal(ctx, deal)) return toDeal(deal)
  } catch (error) {
    // Outside a transaction the stage can be removed after the look-up, which then has another result.
    if (violatedConstraint(error) === 'deals_stage_fk') return createDeal(ctx, input)
    throw error
  }
  throw invalidField('contactId', 'Contact not found')
}

const insertDeal = insertWithEvents({
  into: jsonRows(deals),
  event: dealCreated,
  toData: toDeal,
  // The foreign keys lock the stages in the order of the rows, and every other writer takes stages by their ids.
  orderBy: sql`stage_id, id`,
  references: owningContact,
})
