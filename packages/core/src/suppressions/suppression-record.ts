import type { SuppressionRow } from '../consent/suppression-rows.ts'
import type { Suppression } from './suppressions.schema.ts'

export function toSuppression(row: SuppressionRow): Suppression {
  return {
    id: row.id,
    contactId: row.contactId,
    listId: row.listId,
    reason: row.reason,
    source: row.source,
    note: row.note,
    firstSaidAt: row.firstSaidAt,
    saidAt: row.saidAt,
    createdAt: row.createdAt,
  }
}
