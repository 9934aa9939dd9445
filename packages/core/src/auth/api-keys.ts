import { inAccountTransaction } from './account-transaction.ts'
import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId, lockById } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { lockActor } from '../request/lock-actor.ts'
import { onConstraint } from '../db/database-errors.ts'
import { notFound } from '../kernel/errors.ts'
import { type ApiKeyId, newId, type UserId } from '../kernel/ids.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { apiKeys, type Role, roles } from '../db/schema/index.ts'
import { hashToken, newToken } from '../kernel/crypto.ts'
import type { ApiKey, ApiKeyInput, ApiKeyQuery, CreatedApiKey } from './auth.schema.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

type ApiKeyRow = typeof apiKeys.$inferSelect

/**
 * Creates an API key. Only an ADMIN may call it, and ADMIN is the highest role of a key, so no key exceeds its creator. A key
 * with rights may never call it.
 * Only this response contains the key; the database stores its hash. Throws `quota_exceeded` if the workspace has the maximum number of API keys.
 */
export async function createApiKey(ctx: Ctx, input: ApiKeyInput): Promise<CreatedApiKey> {
  const key = newToken('rpk')
  return inAccountTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'apiKeys', { count: () => countApiKeys(ctx) })
    const apiKey: ApiKeyRow = {
      workspaceId: ctx.workspaceId,
      id: newId('key'),
      name: input.name,
      role: input.role,
      rights: input.rights,
      prefix: key.slice(0, 10),
      keyHash: hashToken(key),
      createdBy: await lockActor(ctx),
      expiresAt: input.expiresAt,
      lastUsedAt: null,
      createdAt: timestampNow(),
    }
    await ctx.db
      .insert(apiKeys)
      .values(apiKey)
      .catch(onConstraint('api_keys_workspace_id_workspaces_id_fk', () => notFound('Workspace')))
    await audit(ctx, 'api_key.created', {
      subjectId: apiKey.id,
      name: apiKey.name,
      role: apiKey.role,
      rights: apiKey.rights?.join() ?? null,
    })
    return { ...toApiKey(apiKey), key }
  })
}

export function countApiKeys(ctx: Ctx): Promise<number> {
  return ctx.db.$count(apiKeys, isInWorkspace(ctx))
}

/** Reads one API key, without the key itself. */
export async function readApiKey(ctx: Ctx, id: ApiKeyId): Promise<ApiKey> {
  const [row] = await ctx.db
    .select()
    .from(apiKeys)
    .where(byId(apiKeys, ctx, id))
  if (!row) throw notFound('API key')
  return toApiKey(row)
}

/** Returns a page of the workspace's API keys, without the keys themselves. */
export async function listApiKeys(ctx: Ctx, query: ApiKeyQuery): Promise<Page<ApiKey>> {
  const page = await readPage<ApiKeyRow>(ctx, {
    name: `api-keys ${query.createdBy ?? ''}`,
    query,
    ...byCreation<ApiKeyRow>(apiKeys),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(apiKeys)
        .where(
          and(
            query.createdBy === undefined ? isInWorkspace(ctx) : isCreatedBy(ctx, query.createdBy),
            isCreatedInRange(apiKeys, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toApiKey) }
}

/** Locks an API key until the transaction ends. */
export const lockApiKey = (ctx: Ctx, id: ApiKeyId): Promise<void> => lockById(apiKeys, ctx, id)

/** Revokes an API key. The next request that uses it is rejected. */
export async function deleteApiKey(ctx: Ctx, id: ApiKeyId): Promise<void> {
  await inAccountTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(apiKeys)
      .where(byId(apiKeys, ctx, id))
      .returning()
    if (!row) throw notFound('API key')
    await audit(ctx, 'api_key.deleted', { subjectId: id, name: row.name })
  })
}

/**
 * Revokes every API key that the user created, directly or with one of these keys. The caller's transaction has locked
 * or deleted the membership, so that no further key is created: see `lockActor`.
 */
export async function deleteApiKeysByCreator(ctx: Ctx, userId: UserId): Promise<void> {
  const deleted = await ctx.db.delete(apiKeys).where(isCreatedBy(ctx, userId)).returning()
  for (const { id, name } of deleted) await audit(ctx, 'api_key.deleted', { subjectId: id, name })
}

/**
 * Lowers every API key that the user created, directly or with one of these keys, to at most this role. The caller's
 * transaction has changed the role of the membership, so that no key with a higher role is created: see `lockActor`.
 */
export async function lowerApiKeysByCreator(ctx: Ctx, userId: UserId, highestRole: Role): Promise<void> {
  for (const before of roles.slice(roles.indexOf(highestRole) + 1)) {
    const lowered = await ctx.db
      .update(apiKeys)
      .set({ role: highestRole })
      .where(and(isCreatedBy(ctx, userId), eq(apiKeys.role, before)))
      .returning()
    for (const { id, name } of lowered) {
      await audit(ctx, 'api_key.changed', { subjectId: id, name, before, role: highestRole })
    }
  }
}

export async function deleteAllApiKeys(ctx: Ctx): Promise<void> {
  await ctx.db.delete(apiKeys).where(isInWorkspace(ctx))
}

const isInWorkspace = (ctx: Ctx) => eq(apiKeys.workspaceId, ctx.workspaceId)
const isCreatedBy = (ctx: Ctx, userId: UserId) => and(isInWorkspace(ctx), eq(apiKeys.createdBy, userId))

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    rights: row.rights,
    prefix: row.prefix,
    createdBy: row.createdBy,
    expiresAt: row.expiresAt,
    lastUsedAt: row.lastUsedAt,
    createdAt: row.createdAt,
  }
}
