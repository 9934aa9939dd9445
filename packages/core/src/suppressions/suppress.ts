import {
  addSuppression,
  type ConsentRecords,
  type GivenSuppression,
  type SuppressionChange,
} from '../consent/consent-records.ts'
import { restoreLostRows } from '../consent/lost-rows.ts'
import { deriveStatuses } from '../consent/derive-statuses.ts'
import type { SuppressionRow } from '../consent/suppression-rows.ts'
import { emailKey } from '../kernel/values/email-key.ts'
import type { Ctx } from '../request/context.ts'
import { inRounds } from '../request/in-rounds.ts'
import { lockPeople } from './lock-people.ts'

export interface StoredSuppression {
  row: SuppressionRow
  change: SuppressionChange
}

interface SuppressOptions {
  emitsEvents: boolean
  /** Completes the records of the contacts. */
  complete?: (records: ConsentRecords, stored: readonly StoredSuppression[]) => void
}

/**
 * Suppresses addresses, and ends the subscriptions of their contacts in the same transaction. Returns the suppressions
 * in the order of the input.
 */
export function suppress(
  ctx: Ctx,
  added: readonly GivenSuppression[],
  { emitsEvents, complete = () => {} }: SuppressOptions,
): Promise<StoredSuppression[]> {
  const emails = [...new Set(added.map(({ email }) => emailKey(email)))]
  const keys = emails.map((email) => ({ email }))
  return inRounds(ctx, async (ctx) => {
    const { records } = await lockPeople(ctx, keys)
    restoreLostRows(ctx, records)
    const stored = added.map((one) => addSuppression(ctx, records, one))
    complete(records, stored)
    await deriveStatuses(ctx, records, { emitsEvents })
    return stored
  })
}
