import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { applyStoredOptOuts } from './apply-stored-opt-outs.ts'
import { storeOptOutsOfContact } from './opt-outs.ts'

export interface AddressChange {
  id: ContactId
  from: string
  to: string
}

/**
 * Applies a change of address to the subscriptions of a locked contact, whose row is saved: the old address keeps its
 * opt-outs, and what is stored for the new one applies. Returns whether a subscription has changed.
 */
export async function changeAddress(ctx: Ctx, { id, from, to }: AddressChange): Promise<boolean> {
  await storeOptOutsOfContact(ctx, { id, email: from })
  return applyStoredOptOuts(ctx, { id, email: to })
}
