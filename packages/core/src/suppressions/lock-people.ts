import { lockAddresses } from '../consent/address-locks.ts'
import { type ConsentRecords, readConsent } from '../consent/consent-records.ts'
import type { ContactRow } from '../contacts/contact-record.ts'
import { findContactsByKeys, lockContactsByKeys } from '../contacts/find-contact.ts'
import type { ContactKeys } from '../contacts/identity/contact-keys.ts'
import type { Ctx } from '../request/context.ts'
import { changedBeforeLock } from '../request/in-rounds.ts'

interface LockedPeople {
  contacts: readonly ContactRow[]
  records: ConsentRecords
}

/**
 * Locks the contacts with these keys, then what `lockNext` locks, then every address. Throws `changedBeforeLock`, for
 * `inRounds`, if another transaction has created a contact in between.
 */
export async function lockPeople(
  ctx: Ctx,
  keys: readonly ContactKeys[],
  lockNext: () => Promise<unknown> = async () => {},
): Promise<LockedPeople> {
  const locked = await lockContactsByKeys(ctx, keys)
  await lockNext()
  const emails = [...keys, ...locked].flatMap(({ email }) => email ?? [])
  const moments = await lockAddresses(ctx, emails, 'exclusive')
  const contacts = await findContactsByKeys(ctx, keys)
  const lockedIds = new Set(locked.map(({ id }) => id))
  // Locking it now could deadlock with a transaction that subscribes it.
  if (contacts.some(({ id }) => !lockedIds.has(id))) throw changedBeforeLock
  return { contacts, records: await readConsent(ctx, moments, { contacts, emails, mode: 'exclusive' }) }
}
