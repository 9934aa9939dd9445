import { and, eq, gt, inArray, isNull, or, sql } from 'drizzle-orm'
import type { Actor, BaseCtx, Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { AppError } from '../kernel/errors.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import { type Params, prepared } from '../db/prepared-query.ts'
import { apiKeys, members, type Role, roles, sessions, users } from '../db/schema/index.ts'
import { hashToken } from '../kernel/crypto.ts'
import { toApiKey } from './api-keys.ts'
import type { Me } from './auth.schema.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import { toUser } from './users.ts'

const unauthenticated = () => new AppError('unauthenticated', 'Missing or invalid credential')

/** The context of whoever holds this token. One answer for every reason why nobody does. */
export type Authenticate = (ctx: BaseCtx, token: string) => Promise<Ctx>

/**
 * Asks the database for each request, so that what was revoked is dead on the very next one. Those who come while it is
 * being asked go together in the next question: of many at once none pays for a way there and back of its own.
 */
export function createAuthenticator(db: Db): Authenticate {
  const findApiKey = microBatch((hashes: string[]) => findApiKeys(db, hashes))
  const findSession = microBatch((hashes: string[]) => findSessions(db, hashes))
  return async (ctx, token) => {
    const find = token.startsWith('rpk_') ? findApiKey : findSession
    const found = await find(hashToken(token))
    if (!found) throw unauthenticated()
    return { ...ctx, ...found }
  }
}

/** Throws `forbidden` unless the actor has at least this role. */
export function requireRole(actor: Actor, role: Role): void {
  const held = 'role' in actor ? roles.indexOf(actor.role) : -1
  if (held < roles.indexOf(role)) throw new AppError('forbidden', `This needs the role ${role}`)
}

/** Nobody gives, or touches, more than they have themselves. */
export function requireAtMostOwn({ actor }: Ctx, role: Role): void {
  if ('role' in actor) requireRole(actor, role)
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
type Hashes = Record<'hashes', string[]>

/** Answers for each hash in its place. */
async function findApiKeys(db: Db, hashes: string[]): Promise<(Found | undefined)[]> {
  const keys = await selectApiKeys(db, { hashes })
  const stale = keys.filter(({ isUseStale }) => isUseStale).map(({ hash }) => hash)
  // By hashes alone: each is of one key in all workspaces, which was just found by it.
  if (stale.length > 0) {
    await db.update(apiKeys).set({ lastUsedAt: sql`now()` }).where(inArray(apiKeys.keyHash, stale))
  }
  return hashes.map((hash) => {
    const key = keys.find((one) => one.hash === hash)
    return key && { workspaceId: key.workspaceId, actor: { kind: 'apiKey', apiKeyId: key.id, role: key.role } }
  })
}

const selectApiKeys = prepared('find API keys', (db, param: Params<Hashes>) =>
  db
    .select({
      hash: apiKeys.keyHash,
      workspaceId: apiKeys.workspaceId,
      id: apiKeys.id,
      role: apiKeys.role,
      // Written at most once a minute: a busy key must not turn every read into a write.
      isUseStale: sql<boolean>`coalesce(${apiKeys.lastUsedAt} < now() - interval '1 minute', true)`,
    })
    .from(apiKeys)
    .where(
      and(
        sql`${apiKeys.keyHash} = any(${param('hashes')})`,
        or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)),
      ),
    ),
)

async function findSessions(db: Db, hashes: string[]): Promise<(Found | undefined)[]> {
  const found = await selectSessions(db, { hashes })
  return hashes.map((hash) => {
    const session = found.find((one) => one.hash === hash)
    if (!session) return undefined
    const { workspaceId, userId, role, id: sessionId } = session
    return { workspaceId, actor: { kind: 'user', userId, role, sessionId } }
  })
}

const selectSessions = prepared('find sessions', (db, param: Params<Hashes>) =>
  db
    .select({
      hash: sessions.tokenHash,
      id: sessions.id,
      workspaceId: sessions.workspaceId,
      userId: sessions.userId,
      role: members.role,
    })
    .from(sessions)
    .innerJoin(members, and(eq(members.workspaceId, sessions.workspaceId), eq(members.userId, sessions.userId)))
    .where(and(sql`${sessions.tokenHash} = any(${param('hashes')})`, gt(sessions.expiresAt, sql`now()`))),
)
