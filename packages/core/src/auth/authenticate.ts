import { and, eq, gt, isNull, or, sql } from 'drizzle-orm'
import type { Actor, BaseCtx, Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { type Given, prepared } from '../prepared.ts'
import { apiKeys, members, type Role, roles, sessions, users } from '../schema.ts'
import { hashToken } from '../secrets.ts'
import { toApiKey } from './api-keys.ts'
import type { Me } from './auth.schema.ts'
import { readWorkspace, toUser } from './workspaces.ts'

const unauthenticated = () => new AppError('unauthenticated', 'Missing or invalid credential')

/**
 * The context of whoever holds this token, asked of the database each time, so that what was revoked is dead on the
 * very next request. One answer for every reason why not.
 */
export async function authenticate(ctx: BaseCtx, token: string): Promise<Ctx> {
  const found = token.startsWith('rpk_') ? await byApiKey(ctx, token) : await bySession(ctx, token)
  if (!found) throw unauthenticated()
  return { ...ctx, ...found }
}

/** Throws `forbidden` unless the actor has at least this role. */
export function requireRole(actor: Actor, role: Role): void {
  const held = 'role' in actor ? roles.indexOf(actor.role) : -1
  if (held < roles.indexOf(role)) throw new AppError('forbidden', `This needs the role ${role}`)
}

/** Who is asking, and where. */
export async function readMe(ctx: Ctx): Promise<Me> {
  const { actor, db, workspaceId } = ctx
  const workspace = await readWorkspace(ctx)
  if (actor.kind === 'user') {
    const [user] = await db.select().from(users).where(eq(users.id, actor.userId))
    if (!user) throw unauthenticated()
    return { kind: 'user', role: actor.role, user: toUser(user), apiKey: null, workspace }
  }
  if (actor.kind !== 'apiKey') throw unauthenticated()
  const [apiKey] = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.workspaceId, workspaceId), eq(apiKeys.id, actor.apiKeyId)))
  if (!apiKey) throw unauthenticated()
  return { kind: 'apiKey', role: actor.role, user: null, apiKey: toApiKey(apiKey), workspace }
}

type Found = Pick<Ctx, 'workspaceId' | 'actor'>

const findApiKey = prepared('find an API key', (db, given: Given<{ hash: string }>) =>
  db
    .select({
      workspaceId: apiKeys.workspaceId,
      id: apiKeys.id,
      role: apiKeys.role,
      // Written at most once a minute: a busy key must not turn every read into a write.
      isUseStale: sql<boolean>`coalesce(${apiKeys.lastUsedAt} < now() - interval '1 minute', true)`,
    })
    .from(apiKeys)
    .where(and(eq(apiKeys.keyHash, given('hash')), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)))),
)

async function byApiKey({ db }: BaseCtx, token: string): Promise<Found | undefined> {
  const [key] = await findApiKey(db, { hash: hashToken(token) })
  if (!key) return undefined
  if (key.isUseStale) {
    await db
      .update(apiKeys)
      .set({ lastUsedAt: sql`now()` })
      .where(and(eq(apiKeys.workspaceId, key.workspaceId), eq(apiKeys.id, key.id)))
  }
  return { workspaceId: key.workspaceId, actor: { kind: 'apiKey', apiKeyId: key.id, role: key.role } }
}

const findSession = prepared('find a session', (db, given: Given<{ hash: string }>) =>
  db
    .select({ id: sessions.id, workspaceId: sessions.workspaceId, userId: sessions.userId, role: members.role })
    .from(sessions)
    .innerJoin(members, and(eq(members.workspaceId, sessions.workspaceId), eq(members.userId, sessions.userId)))
    .where(and(eq(sessions.tokenHash, given('hash')), gt(sessions.expiresAt, sql`now()`))),
)

async function bySession({ db }: BaseCtx, token: string): Promise<Found | undefined> {
  const [session] = await findSession(db, { hash: hashToken(token) })
  if (!session) return undefined
  return {
    workspaceId: session.workspaceId,
    actor: { kind: 'user', userId: session.userId, role: session.role, sessionId: session.id },
  }
}
