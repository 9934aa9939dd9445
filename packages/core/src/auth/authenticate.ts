import { and, eq } from 'drizzle-orm'
import type { Actor, BaseCtx, Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { AppError, unauthenticated } from '../kernel/errors.ts'
import { apiKeys, type Role, roles, users } from '../db/schema/index.ts'
import { toApiKey } from './api-keys.ts'
import type { Me } from './auth.schema.ts'
import { createCredentialFinder } from './find-credential.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import { toUser } from './users.ts'

/** Returns the context of the token's API key or session. All invalid tokens get the same error. */
export type Authenticate = (ctx: BaseCtx, token: string) => Promise<Ctx>

/** Looks up the token in the database for each request, so that a revoked credential fails on the next request. */
export function createAuthenticator(db: Db): Authenticate {
  const findCredential = createCredentialFinder(db)
  return async (ctx, token) => {
    const credential = await findCredential(token)
    if (!credential) throw unauthenticated()
    return { ...ctx, ...credential }
  }
}

/** Whether the actor has at least this role. */
export function hasRole(actor: Actor, role: Role): boolean {
  return 'role' in actor && roles.indexOf(actor.role) >= roles.indexOf(role)
}

/** Throws `forbidden` unless the actor has at least this role. */
export function requireRole(actor: Actor, role: Role): void {
  if (!hasRole(actor, role)) throw new AppError('forbidden', `This request requires the role ${role}`)
}

/** Throws `forbidden` if the role is above the actor's own. */
export function requireRoleNotAboveOwn({ actor }: Ctx, role: Role): void {
  if ('role' in actor && !hasRole(actor, role)) throw new AppError('forbidden', `The role ${role} is above your own`)
}

/** Reads the actor of the request and its workspace. */
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
