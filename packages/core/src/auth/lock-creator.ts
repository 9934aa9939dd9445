import { and, eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { AppError, unauthenticated } from '../kernel/errors.ts'
import type { UserId } from '../kernel/ids.ts'
import { apiKeys, members, roles } from '../db/schema/index.ts'

/**
 * Returns the user who creates an API key or an invite: the user of the session, or the creator of the API key that
 * makes the request. Locks the membership or the key until the caller's transaction ends. A concurrent removal, role
 * change or revocation waits for the lock, and then also deletes the new record. Throws if it has already happened.
 */
export async function lockCreator({ actor, db, workspaceId }: Ctx): Promise<UserId | null> {
  if (actor.kind === 'user') {
    const [member] = await db
      .select({ role: members.role })
      .from(members)
      .where(and(eq(members.workspaceId, workspaceId), eq(members.userId, actor.userId)))
      .for('share')
    if (!member) throw unauthenticated()
    if (roles.indexOf(member.role) < roles.indexOf(actor.role)) {
      throw new AppError('forbidden', `This request requires the role ${actor.role}`)
    }
    return actor.userId
  }
  if (actor.kind !== 'apiKey') return null
  const [key] = await db
    .select({ createdBy: apiKeys.createdBy })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, actor.apiKeyId)))
    // A stronger lock would block the updates of `last_used_at`.
    .for('key share')
  if (!key) throw unauthenticated()
  return key.createdBy
}
