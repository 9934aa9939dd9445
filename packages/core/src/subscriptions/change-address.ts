import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { applyRemaining, applySuppressions } from './apply-suppressions.ts'
import { lockAddresses, readSuppressions } from './find-suppressions.ts'
import { copyOptOuts, storeOptOutsOfContact } from './opt-outs.ts'
import { copySuppressions, forgetContact } from './store-suppressions.ts'

interface AddressOfContact {
  id: ContactId
  email: string
}

/**
 * Makes what a person said hold for the address that their contact loses, and for the address of the contact that they
 * continue as: opt-outs of lists and of all lists, complaints, and blocks. A bounce concerns its address alone. The
 * caller has locked the contacts.
 */
export async function leaveAddress(ctx: Ctx, former: AddressOfContact, next: AddressOfContact): Promise<void> {
  await lockAddresses(ctx, [former.email, next.email], 'exclusive')
  await storeOptOutsOfContact(ctx, former)
  await copyOptOuts(ctx, { from: former.email, to: next.email })
  await copySuppressions(ctx, { from: former.email, to: next.email, contactId: next.id })
  await forgetContact(ctx, { email: former.email })
}

export interface AddressChange {
  id: ContactId
  from: string
  to: string
}

/**
 * Applies a change of address to the subscriptions of a locked contact, whose row is saved. What the person said holds
 * for both addresses, what stands against the new one applies, and a bounce remains with the old one. Returns whether a
 * subscription may have changed.
 */
export async function changeAddress(ctx: Ctx, { id, from, to }: AddressChange): Promise<boolean> {
  await leaveAddress(ctx, { id, email: from }, { id, email: to })
  const wasSuppressed = (await readSuppressions(ctx, { email: from })).length > 0
  if (wasSuppressed) await applyRemaining(ctx, { id, email: to }, await readSuppressions(ctx, { email: to }))
  const isChanged = await applySuppressions(ctx, { id, email: to })
  return wasSuppressed || isChanged
}
