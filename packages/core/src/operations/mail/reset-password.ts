import { eq } from 'drizzle-orm'
import type { ResetPasswordInput } from '../../auth/auth.schema.ts'
import { replacePassword } from '../../auth/password-resets.ts'
import type { BaseCtx, Ctx } from '../../request/context.ts'
import { members, users } from '../../db/schema/index.ts'
import { deleteInvitesByCreator } from '../../team/invites.ts'
import { deleteAllMailHooks } from '../../mail-hooks/mail-hooks.ts'
import { disableWebhooks } from '../../webhooks/webhooks.ts'
import { deleteApiKeysByCreator } from '../../auth/api-keys.ts'
import { markEmailVerified } from '../../auth/users.ts'
import type { UserId } from '../../kernel/ids.ts'

/** Sets a new password with the token of an email, which also proves that the user owns the address. */
export function resetPassword(base: BaseCtx, input: ResetPasswordInput): Promise<void> {
  return replacePassword(base, input, confirmOwnership)
}

/**
 * The token proves that the user owns the address. If that was not proved before, another person may have created the
 * account: the API keys and invites that it created are revoked. In workspaces that it owns, the webhooks are disabled,
 * as they would leak new data, and the mail hooks are deleted, as their secrets suppress any address. Other members
 * stay: each of them accepted an invite sent to their own address, and the owner can list and remove them.
 */
async function confirmOwnership(base: BaseCtx, userId: UserId): Promise<void> {
  const [user] = await base.db
    .select({ emailVerifiedAt: users.emailVerifiedAt })
    .from(users)
    .where(eq(users.id, userId))
  if (!user || user.emailVerifiedAt) return
  const memberships = await base.db
    .select()
    .from(members)
    .where(eq(members.userId, userId))
    .orderBy(members.workspaceId)
    // Waits for requests that create what is revoked here, and blocks further ones: see `lockActor`.
    .for('no key update')
  for (const { workspaceId, role } of memberships) {
    const ctx: Ctx = { ...base, workspaceId, actor: { kind: 'user', userId, role } }
    await deleteApiKeysByCreator(ctx, userId)
    await deleteInvitesByCreator(ctx, userId)
    if (role !== 'OWNER') continue
    await disableWebhooks(ctx)
    await deleteAllMailHooks(ctx)
  }
  await markEmailVerified(base, userId)
}
