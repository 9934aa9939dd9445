import { audit } from '../audit/audit.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { suppressions } from '../db/schema/index.ts'
import { changedConcurrently, conflict, notFound } from '../kernel/errors.ts'
import type { SuppressionId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { applyRemaining } from '../subscriptions/apply-suppressions.ts'
import { hashEmailWithAllKeys } from '../subscriptions/hash-email.ts'
import { saveWithout } from '../subscriptions/store-suppressions.ts'
import { isByPerson } from '../subscriptions/suppression-reasons.ts'
import { deleteSoftBounces } from './soft-bounces.ts'
import type { SuppressionLift } from './suppressions.schema.ts'

/**
 * Lifts a bounce, a block, or both. The subscriptions that only these ended return to their former status at once. What
 * the person said remains; without a reason to lift, throws `opted_out`.
 */
export function liftSuppression(ctx: Ctx, id: SuppressionId, { note, reason }: SuppressionLift): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const { row, contact } = await lockWithContact(ctx, id)
    const isLifted = (one: { reason: string }) =>
      one.reason === reason || (reason === undefined && (one.reason === 'BOUNCED' || one.reason === 'MANUAL'))
    const lifted = row.reasons.filter(isLifted).map((one) => one.reason)
    if (lifted.length === 0) {
      if (row.reasons.every(isByPerson)) throw conflict('opted_out', 'Only the person can revert what they said')
      throw conflict('wrong_state', `The suppression has no reason ${reason}`)
    }
    const remaining = await saveWithout(ctx, row, isLifted)
    const hashes = contact ? hashEmailWithAllKeys(ctx, contact.email) : [row.emailHash]
    if (lifted.includes('BOUNCED')) await deleteSoftBounces(ctx, hashes)
    if (contact) await applyRemaining(ctx, contact, remaining)
    await audit(ctx, 'suppression.lifted', { subjectId: id, reasons: lifted.join(', '), note })
  })
}

/** Locks a suppression after its contact, in the order of all writers. */
export async function lockWithContact(ctx: Ctx, id: SuppressionId) {
  const [seen] = await selectRow(ctx, id)
  if (!seen) throw notFound('Suppression')
  const contact = seen.contactId ? await lockContact(ctx, seen.contactId) : undefined
  const [row] = await selectRow(ctx, id).for('update')
  if (!row) throw notFound('Suppression')
  if (row.contactId !== seen.contactId) throw changedConcurrently()
  return { row, contact }
}

function selectRow(ctx: Ctx, id: SuppressionId) {
  return ctx.db
    .select()
    .from(suppressions)
    .where(byId(suppressions, ctx, id))
}
