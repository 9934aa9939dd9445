import type { ContactRow } from '../contacts/contact-record.ts'
import { findContactsByKeys, lockContactsByKeys } from '../contacts/find-contact.ts'
import type { ContactKeys } from '../contacts/identity/contact-keys.ts'
import type { Ctx } from '../request/context.ts'
import { changedBeforeLock, inRounds } from '../request/in-rounds.ts'
import { lockAddresses } from '../subscriptions/find-suppressions.ts'

/**
 * Runs `act` in a transaction that has locked the contacts with these keys, then the addresses of the keys and of the
 * contacts. Throws `unavailable` if concurrent requests keep creating contacts with these keys.
 */
export function withLockedAddresses<Result>(
  ctx: Ctx,
  keys: readonly ContactKeys[],
  act: (ctx: Ctx, contacts: readonly ContactRow[]) => Promise<Result>,
): Promise<Result> {
  return inRounds(ctx, async (ctx) => act(ctx, await lockAll(ctx, keys)))
}

async function lockAll(ctx: Ctx, keys: readonly ContactKeys[]): Promise<ContactRow[]> {
  const locked = await lockContactsByKeys(ctx, keys)
  const emails = [...keys, ...locked].flatMap(({ email }) => email ?? [])
  await lockAddresses(ctx, emails, 'exclusive')
  const contacts = await findContactsByKeys(ctx, keys)
  const lockedIds = new Set(locked.map(({ id }) => id))
  // Locking it now could deadlock with a transaction that subscribes it.
  if (contacts.some(({ id }) => !lockedIds.has(id))) throw changedBeforeLock
  return contacts
}
