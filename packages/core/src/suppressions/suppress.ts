import { findContactsByKeys, lockContactsByKeys } from '../contacts/find-contact.ts'
import type { SuppressionReason } from '../db/schema/index.ts'
import { changedConcurrently } from '../kernel/errors.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emitUnsubscribed, endSuppressed } from '../subscriptions/apply-suppressions.ts'
import { lockAddresses } from '../subscriptions/find-suppressions.ts'
import { addSuppressions, type StoredSuppression } from '../subscriptions/store-suppressions.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'

export interface NewSuppression {
  email: string
  reason: SuppressionReason['reason']
  source: SuppressionReason['source']
  /** When the reason arose. Default: now. */
  createdAt?: Date
  note?: string | null
}

interface SuppressOptions {
  emitsEvents: boolean
  now?: Date
}

/**
 * Suppresses addresses, and ends the subscriptions of their contacts in the same transaction. Reasons add up; a known
 * one changes nothing. Returns the suppressions in the order of the input. Throws `unavailable` if concurrent requests
 * keep creating contacts with these addresses.
 */
export async function suppress(
  ctx: Ctx,
  added: readonly NewSuppression[],
  options: SuppressOptions,
): Promise<StoredSuppression[]> {
  for (let round = 1; round < maxRounds; round++) {
    const stored = await suppressOnce(ctx, added, options).catch((error: unknown) => {
      if (error !== contactAppeared) throw error
    })
    if (stored) return stored
  }
  return suppressOnce(ctx, added, options)
}

const maxRounds = 3
const contactAppeared = changedConcurrently()

function suppressOnce(
  ctx: Ctx,
  added: readonly NewSuppression[],
  { emitsEvents, now = new Date() }: SuppressOptions,
): Promise<StoredSuppression[]> {
  const emails = [...new Set(added.map(({ email }) => email.toLowerCase()))]
  const keys = emails.map((email) => ({ email }))
  return inTransaction(ctx, async (ctx) => {
    const locked = new Set((await lockContactsByKeys(ctx, keys)).map(({ id }) => id))
    await lockAddresses(ctx, emails, 'exclusive')
    const contacts = await findContactsByKeys(ctx, keys)
    // Locking it now could deadlock with a transaction that subscribes it.
    if (contacts.some(({ id }) => !locked.has(id))) throw contactAppeared
    const idOfContact = new Map(contacts.map(({ id, email }) => [email.toLowerCase(), id]))
    const stored = await addSuppressions(
      ctx,
      added.map(({ email, reason, source, createdAt = now, note = null }) => ({
        email,
        reasons: [{ reason, source, createdAt: createdAt.toISOString() }],
        contactId: idOfContact.get(email.toLowerCase()) ?? null,
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
  })
}
