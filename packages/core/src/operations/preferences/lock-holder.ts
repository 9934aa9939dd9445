import { lockCurrentContact } from '../../contacts/lock-contact.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import { type BaseCtx, type Ctx, publicContext } from '../../request/context.ts'
import { inRounds } from '../../request/in-rounds.ts'
import type { AddressedContact } from '../../consent/consent-records.ts'
import { openPreferences, type PreferencesLink } from '../../consent/preferences-links.ts'
import { isLiveWorkspace } from '../../request/workspace-state.ts'

/** The person at the other end of a link: the contact that it names, or into which that one was merged. */
export interface Holder {
  /** Undefined if the contact was deleted. */
  contact: AddressedContact | undefined
  /** Whether the contact still has the address of the link. Otherwise the link may only opt out. */
  isCurrent: boolean
}

export function toHolder(link: PreferencesLink, contact: AddressedContact | undefined): Holder {
  const isCurrent = contact !== undefined && isSameAddress(contact.email, link.email)
  return { contact, isCurrent }
}

/**
 * Runs `act` in a transaction of `inRounds` that has locked the contact of a link. No-op if the workspace was deleted.
 * Throws `invalid_token`.
 */
export function withLockedHolder(
  base: BaseCtx,
  token: string,
  act: (ctx: Ctx, holder: Holder) => Promise<void>,
): Promise<void> {
  const link = openPreferences(base, token)
  return inRounds(publicContext(base, link.workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) return
    await act(ctx, toHolder(link, await lockCurrentContact(ctx, link.contactId)))
  })
}
