import { isSameAddress } from '../kernel/values/email-key.ts'
import type { AppError } from '../kernel/errors.ts'
import type { ContactId, WorkspaceId } from '../kernel/ids.ts'
import { type BaseCtx, type Ctx, inTransaction, publicContext } from '../request/context.ts'
import { isLiveWorkspace, requireNotSuspended } from '../request/workspace-state.ts'
import type { ContactRow } from './contact-record.ts'
import { lockCurrentContact } from './lock-contact.ts'

/** What a link in an email names. `email` is the address that it was mailed to. */
interface ContactLink {
  workspaceId: WorkspaceId
  contactId: ContactId
  email: string
}

interface LinkedAct<Result> {
  /** Makes the error for a link that is no longer valid. */
  refuse: () => AppError
  act: (ctx: Ctx, contact: ContactRow) => Promise<Result>
}

/**
 * Runs `act` in a transaction that has locked the contact of a link, or the one that it was merged into.
 * The link is refused if the workspace or the contact was deleted, or if the contact has another address now. Throws
 * `workspace_suspended`.
 */
export function withLinkedContact<Result>(
  base: BaseCtx,
  { workspaceId, contactId, email }: ContactLink,
  { refuse, act }: LinkedAct<Result>,
): Promise<Result> {
  return inTransaction(publicContext(base, workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) throw refuse()
    await requireNotSuspended(ctx)
    const contact = await lockCurrentContact(ctx, contactId)
    if (!contact || !isSameAddress(contact.email, email)) throw refuse()
    return act(ctx, contact)
  })
}
