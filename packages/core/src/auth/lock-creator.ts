import { and, eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import type { UserId } from '../kernel/ids.ts'
import { apiKeys, members, roles } from '../db/schema/index.ts'

/**
 * The user behind the credential that makes something which outlives it: themselves, or who issued the API key. Until the
 * caller's transaction ends they are neither removed nor lowered and the key is not revoked: whoever does that waits,
 * and takes away what was made as well. Throws where it was done a moment ago.
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
      throw new AppError('forbidden', `This needs the role ${actor.role}`)
    }
    return actor.userId
  }
  if (actor.kind !== 'apiKey') return null
  const [key] = await db
    .select({ createdBy: apiKeys.createdBy })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, actor.apiKeyId)))
    // That it is used is noted in its row all the while.
    .for('key share')
  if (!key) throw unauthenticated()
  return key.createdBy
}

const unauthenticated = () => new AppError('unauthenticated', 'Missing or invalid credential')
