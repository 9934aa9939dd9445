import { sortByKey } from '../custom-fields/custom-values.ts'
import type { deals } from '../db/schema/index.ts'
import type { Deal } from './deals.schema.ts'

export type DealRow = typeof deals.$inferSelect

export function toDeal(row: DealRow): Deal {
  return {
    id: row.id,
    pipelineId: row.pipelineId,
    stageId: row.stageId,
    contactId: row.contactId,
    name: row.name,
    valueCents: row.valueCents,
    status: row.status,
    closedAt: row.closedAt,
    companyId: row.companyId,
    ownerId: row.ownerId,
    expectedCloseOn: row.expectedCloseOn,
    lostReason: row.lostReason,
    customFieldValues: sortByKey(row.customFieldValues),
    contactErasedAt: row.contactErasedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
