import { sql } from 'drizzle-orm'
import { owningContact } from '../contacts/touch-last-activity.ts'
import { companyOf, readCompanyName } from '../companies/linked-companies.ts'
import { checkCustomValues } from '../custom-fields/check-custom-values.ts'
import { customFieldsOf } from '../custom-fields/custom-field-references.ts'
import { changeCustomValues } from '../custom-fields/custom-values.ts'
import { jsonRows } from '../db/json-rows.ts'
import { deals } from '../db/schema/index.ts'
import { bothReferences, insertWithEvents } from '../events/insert-with-events.ts'
import { violatedConstraint } from '../db/database-errors.ts'
import { invalidField } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { findStage } from '../pipelines/stages.ts'
import type { Ctx } from '../request/context.ts'
import { memberIn, requireMember } from '../workspaces/named-members.ts'
import { dealCreated } from './deal-events.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import type { Deal, DealInput } from './deals.schema.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/**
 * Creates an OPEN deal and emits `deal.created`. Default stage: the pipeline's first. Throws `validation_error` if the
 * contact, the company, the pipeline, the stage or a custom field does not exist.
 */
export async function createDeal(ctx: Ctx, input: DealInput): Promise<Deal> {
  const now = timestampNow()
  const deal: DealRow = {
    workspaceId: ctx.workspaceId,
    id: newId('dea'),
    pipelineId: input.pipelineId,
    stageId: await findStage(ctx, input),
    contactId: input.contactId,
    companyId: input.companyId,
    contactErasedAt: null,
    formerContactIds: [],
    name: input.name,
    valueCents: input.valueCents,
    status: 'OPEN',
    closedAt: null,
    ownerId: input.ownerId,
    expectedCloseOn: input.expectedCloseOn,
    lostReason: null,
    customFieldValues: changeCustomValues({}, await checkCustomValues(ctx, 'DEAL', input.customFieldValues)),
    createdAt: now,
    updatedAt: now,
  }
  try {
    if (await insertDeal(ctx, deal)) return toDeal(deal)
  } catch (error) {
    // The stage was removed after the look-up, which is possible outside a transaction: look it up again.
    if (violatedConstraint(error) === 'deals_stage_fk') return createDeal(ctx, input)
    throw error
  }
  // Throws if a custom field was removed after the check.
  await checkCustomValues(ctx, 'DEAL', input.customFieldValues)
  await requireMember(ctx, 'ownerId', input.ownerId)
  // Throws if there is no such company.
  if (input.companyId) await readCompanyName(ctx, input.companyId)
  throw invalidField('contactId', 'Contact not found')
}

const insertDeal = insertWithEvents({
  into: jsonRows(deals),
  event: dealCreated,
  toData: toDeal,
  // The foreign keys lock the stages in row order. Like every other transaction, this one must lock them in id order.
  orderBy: sql`stage_id, id`,
  // The company last, as in a change of a deal.
  references: bothReferences(bothReferences(customFieldsOf('DEAL'), memberIn('ownerId')), companyOf),
  owner: owningContact,
})
