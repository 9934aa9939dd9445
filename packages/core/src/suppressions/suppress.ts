import type { ContactRow } from '../contacts/contact-record.ts'
import { emailKey } from '../contacts/identity/contact-keys.ts'
import type { SuppressionReason } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { emitUnsubscribed, endSuppressed } from '../subscriptions/apply-suppressions.ts'
import { addSuppressions, type StoredSuppression } from '../subscriptions/store-suppressions.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import { withLockedAddresses } from './with-locked-addresses.ts'

export interface NewSuppression {
  email: string
  reason: SuppressionReason['reason']
  source: SuppressionReason['source']
  /** When the reason arose. Default: now. */
  createdAt?: Date | undefined
  note?: string | null
}

interface SuppressOptions {
  emitsEvents: boolean
  now?: Date
}

/**
 * Suppresses addresses, and ends the subscriptions of their contacts in the same transaction. Reasons add up; a known
 * one changes nothing. Returns the suppressions in the order of the input.
 */
export function suppress(
  ctx: Ctx,
  added: readonly NewSuppression[],
  options: SuppressOptions,
): Promise<StoredSuppression[]> {
  const emails = [...new Set(added.map(({ email }) => emailKey(email)))]
  const keys = emails.map((email) => ({ email }))
  return withLockedAddresses(ctx, keys, (ctx, contacts) => suppressLocked(ctx, { added, contacts }, options))
}

/** The same for addresses that the transaction has locked, with their contacts: see `withLockedAddresses`. */
export async function suppressLocked(
  ctx: Ctx,
  { added, contacts }: { added: readonly NewSuppression[]; contacts: readonly ContactRow[] },
  { emitsEvents, now = new Date() }: SuppressOptions,
): Promise<StoredSuppression[]> {
  if (added.length === 0) return []
  const idOfContact = new Map(contacts.map(({ id, email }) => [emailKey(email), id]))
  const stored = await addSuppressions(
    ctx,
    added.map(({ email, reason, source, createdAt = now, note = null }) => ({
      email,
      reasons: [{ reason, source, createdAt: createdAt.toISOString() }],
      contactId: idOfContact.get(emailKey(email)) ?? null,
      note,
    })),
  )
  // Of several inputs for one address, the last one has all reasons.
  const suppressed = new Map(
    stored.flatMap(({ row: { contactId, reasons } }) =>
      contactId && reasons[0] ? [[contactId, { contactId, reason: reasons[0].reason }] as const] : [],
    ),
  )
  const ended = await endSuppressed(ctx, [...suppressed.values()], now)
  const changed = stored.filter(({ change }) => change !== 'UNCHANGED').flatMap(({ row }) => row.contactId ?? [])
  const affected = new Set([...ended.map(({ contactId }) => contactId), ...changed])
  if (affected.size > 0) await recordSubscriptionActivity(ctx, [...affected])
  if (emitsEvents) await emitUnsubscribed(ctx, ended)
  return stored
}
