/**
 * Rights that a request was authenticated with may be lost before it writes: a client can send the body slowly. What
 * grants access to others therefore checks them again, in the transaction that writes.
 *
 * Every transaction locks in this order: workspace, user, membership, then API keys, invites, webhooks and sessions.
 */
import { and, eq, gt, isNull, or, sql } from 'drizzle-orm'
import type { Ctx } from './context.ts'
import { AppError, unauthenticated } from '../kernel/errors.ts'
import type { ApiKeyId, SessionId, UserId } from '../kernel/ids.ts'
import { apiKeys, members, type Role, roles, sessions } from '../db/schema/index.ts'

/**
 * Locks the rights of the actor until the caller's transaction ends: the membership, and the session or API key. A
 * concurrent removal, role change or revocation waits for the lock, and then also applies to what the caller created.
 * Throws if it has already happened. Returns the user of the session or the creator of the API key; null if there is
 * none.
 */
export function lockActor(ctx: Ctx): Promise<UserId | null> {
  return findCurrentActor(ctx, { locks: true })
}

/** Throws if the actor has lost the rights. For callers that have locked the workspace, so that no role can change. */
export async function requireUnchangedActor(ctx: Ctx): Promise<void> {
  await findCurrentActor(ctx, { locks: false })
}

interface Locking {
  locks: boolean
}

async function findCurrentActor(ctx: Ctx, locking: Locking): Promise<UserId | null> {
  const { actor } = ctx
  if (actor.kind === 'user') {
    await requireMembership(ctx, { userId: actor.userId, role: actor.role }, locking)
    if (actor.sessionId) await requireSession(ctx, actor.sessionId, locking)
    return actor.userId
  }
  if (actor.kind !== 'apiKey') return null
  // The creator of a key never changes, so it can be read before the locks.
  const creator = await findCreator(ctx, actor.apiKeyId)
  if (creator) await requireMembership(ctx, { userId: creator, role: actor.role }, locking)
  await requireApiKey(ctx, actor, locking)
  return creator
}

async function requireMembership(
  { db, workspaceId }: Ctx,
  { userId, role }: { userId: UserId; role: Role },
  { locks }: Locking,
): Promise<void> {
  const query = db
    .select({ role: members.role })
    .from(members)
    .where(and(eq(members.workspaceId, workspaceId), eq(members.userId, userId)))
  const [member] = await (locks ? query.for('share') : query)
  requireCurrentRole(member, role)
}

async function requireSession({ db, workspaceId }: Ctx, id: SessionId, { locks }: Locking): Promise<void> {
  const query = db
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(eq(sessions.workspaceId, workspaceId), eq(sessions.id, id), gt(sessions.expiresAt, sql`now()`)))
  const [session] = await (locks ? query.for('key share') : query)
  if (!session) throw unauthenticated()
}

async function findCreator({ db, workspaceId }: Ctx, id: ApiKeyId): Promise<UserId | null> {
  const [key] = await db
    .select({ createdBy: apiKeys.createdBy })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, id)))
  if (!key) throw unauthenticated()
  return key.createdBy
}

async function requireApiKey(
  { db, workspaceId }: Ctx,
  { apiKeyId, role }: { apiKeyId: ApiKeyId; role: Role },
  { locks }: Locking,
): Promise<void> {
  const isUnexpired = or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`))
  const query = db
    .select({ role: apiKeys.role })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, apiKeyId), isUnexpired))
  // A stronger lock would block the updates of `last_used_at`. The role changes only while the membership is locked.
  const [key] = await (locks ? query.for('key share') : query)
  requireCurrentRole(key, role)
}

function requireCurrentRole(current: { role: Role } | undefined, neededRole: Role): void {
  if (!current) throw unauthenticated()
  if (roles.indexOf(current.role) < roles.indexOf(neededRole))
    throw new AppError('forbidden', `This request requires the role ${neededRole}`)
}
