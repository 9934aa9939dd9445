import { audit } from '../audit/audit.ts'
import { lockEveryAddress } from '../consent/address-locks.ts'
import { lockConsent, listRows, removeSuppressions } from '../consent/consent-records.ts'
import { isDatedBy } from '../consent/derive-status.ts'
import { deleteSuppression, deriveStatuses } from '../consent/derive-statuses.ts'
import { hashEmailWithAllKeys } from '../consent/hash-email.ts'
import { isByPerson } from '../consent/suppression-rows.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { suppressions } from '../db/schema/index.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import type { SuppressionId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { changedBeforeLock, inRounds } from '../request/in-rounds.ts'
import { deleteSoftBounces } from './soft-bounces.ts'
import type { SuppressionLift } from './suppressions.schema.ts'

/**
 * Lifts a bounce or a block of an address, from whatever source. The subscriptions that only this ended open again at
 * once. Throws `opted_out` for what the person said.
 */
export function liftSuppression(ctx: Ctx, id: SuppressionId, { note }: SuppressionLift): Promise<void> {
  return inRounds(ctx, async (ctx) => {
    const { row, contact } = await lockWithContact(ctx, id)
    const { reason } = row
    if (isByPerson(row)) throw conflict('opted_out', 'Only the person can revert what they said')
    const hashes = contact ? hashEmailWithAllKeys(ctx, contact.email) : [row.emailHash]
    if (contact) {
      const records = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
      const rows = listRows(records, contact.email).filter((one) => one.reason === reason)
      if (rows.length === 0) throw notFound('Suppression')
      removeSuppressions(records, rows)
      await deriveStatuses(ctx, records, {
        widens: (state) =>
          reason === 'BOUNCED' ? state.status === 'BOUNCED' : rows.some((one) => isDatedBy(state, one)),
      })
    } else {
      await deleteSuppression(ctx, id)
    }
    if (reason === 'BOUNCED') await deleteSoftBounces(ctx, hashes)
    await audit(ctx, 'suppression.lifted', { subjectId: id, reason, note, contactId: contact?.id })
  })
}

/**
 * Reads a suppression after it has locked the contact that has the address, as far as known, else every address: a
 * contact may be getting it. Throws `changedBeforeLock` if another contact has it meanwhile.
 */
export async function lockWithContact(ctx: Ctx, id: SuppressionId) {
  const seen = await findRow(ctx, id)
  if (!seen) throw notFound('Suppression')
  const contact = seen.contactId ? await lockContact(ctx, seen.contactId) : undefined
  const hasAddress = contact !== undefined && hashEmailWithAllKeys(ctx, contact.email).includes(seen.emailHash)
  if (!hasAddress) await lockEveryAddress(ctx)
  const row = await findRow(ctx, id)
  if (!row) throw notFound('Suppression')
  if (row.contactId !== seen.contactId) throw changedBeforeLock
  return { row, contact: hasAddress ? contact : undefined }
}

async function findRow(ctx: Ctx, id: SuppressionId) {
  const [row] = await ctx.db
    .select()
    .from(suppressions)
    .where(byId(suppressions, ctx, id))
  return row
}
