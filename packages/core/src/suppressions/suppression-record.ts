import { toTimestamp } from '../kernel/validation.ts'
import type { SuppressionRow } from '../subscriptions/store-suppressions.ts'
import type { Suppression } from './suppressions.schema.ts'

export function toSuppression(row: SuppressionRow): Suppression {
  const { reasons } = row
  const [strictest] = reasons
  if (!strictest) throw new Error('A suppression has no reason')
  return {
    id: row.id,
    contactId: row.contactId,
    reason: strictest.reason,
    reasons,
    source: strictest.source,
    note: row.note,
    createdAt: toTimestamp(row.createdAt),
  }
}
