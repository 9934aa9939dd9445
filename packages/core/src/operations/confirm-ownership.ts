import { eq } from 'drizzle-orm'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { members, users } from '../db/schema/index.ts'
import { deleteInvitesOf } from '../team/invites.ts'
import { disableWebhooks } from '../webhooks/webhooks.ts'
import { deleteApiKeysOf } from '../auth/api-keys.ts'
import { verifyUser } from '../auth/users.ts'

/**
 * For who shows by a mail that the address is theirs, in the transaction that locked the user. Was that never shown, then
 * somebody else may have signed up with it, to wait for them to move in: the API keys and invites that the account made
 * end, and so do the webhooks of workspaces that it owns, which would tell what comes in. Other members stay: they are
 * people who came by mails of their own, and can be seen.
 */
export async function takeOverAccount(base: BaseCtx, userId: string): Promise<void> {
  const [user] = await base.db
    .select({ emailVerifiedAt: users.emailVerifiedAt })
    .from(users)
    .where(eq(users.id, userId))
  if (!user || user.emailVerifiedAt) return
  const joined = await base.db.select().from(members).where(eq(members.userId, userId)).orderBy(members.workspaceId)
  for (const { workspaceId, role } of joined) {
    const ctx: Ctx = { ...base, workspaceId, actor: { kind: 'user', userId, role } }
    await deleteApiKeysOf(ctx, userId)
    await deleteInvitesOf(ctx, userId)
    if (role === 'OWNER') await disableWebhooks(ctx)
  }
  await verifyUser(base, userId)
}
