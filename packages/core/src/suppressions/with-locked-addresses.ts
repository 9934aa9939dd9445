import { lockAddresses } from '../consent/address-locks.ts'
import { type ConsentRecords, readConsent } from '../consent/consent-records.ts'
import type { ContactRow } from '../contacts/contact-record.ts'
import { findContactsByKeys, lockContactsByKeys } from '../contacts/find-contact.ts'
import type { ContactKeys } from '../contacts/identity/contact-keys.ts'
import type { Ctx } from '../request/context.ts'
import { changedBeforeLock, inRounds } from '../request/in-rounds.ts'

export interface LockedPeople {
  contacts: readonly ContactRow[]
  records: ConsentRecords
}

/**
 * Runs `act` in a transaction that has locked the contacts with these keys, then the addresses of the keys and of the
 * contacts. Throws `unavailable` if concurrent requests keep creating contacts with these keys.
 */
export function withLockedAddresses<Result>(
  ctx: Ctx,
  keys: readonly ContactKeys[],
  act: (ctx: Ctx, people: LockedPeople) => Promise<Result>,
): Promise<Result> {
  return inRounds(ctx, async (ctx) => act(ctx, await lockPeople(ctx, keys)))
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
