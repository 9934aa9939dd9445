/**
 * The quota of contacts. Up to 10,000, it is exact: the contacts are counted for each new one. Counting millions would
 * be slow, so for a larger quota each process counts once a minute and adds the contacts that it creates.
 */
import { eq, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { contacts } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { Quotas } from '../kernel/quotas.ts'
import type { Ctx } from '../request/context.ts'
import { lockQuotas, quotaExceeded, readQuotas } from './require-quota.ts'

const maxExact = 10_000

interface ContactQuota {
  limit: number
  /** Callers add the contacts that they create. */
  used: number
}

const estimates = new LRUCache<WorkspaceId, ContactQuota, Ctx>({
  max: 10_000,
  ttl: 60_000,
  // Concurrent requests share one count.
  fetchMethod: async (_workspaceId, _stale, { context }) => countContacts(context, await readQuotas(context)),
})

/** Whether contacts must be created in a transaction, because it locks the quota. */
export async function isContactQuotaExact(ctx: Ctx): Promise<boolean> {
  return (await estimates.forceFetch(ctx.workspaceId, { context: ctx })).limit <= maxExact
}

/** Locks an exact quota until the caller's transaction ends. To prevent deadlocks, contacts are locked afterwards. */
export async function readContactQuota(ctx: Ctx): Promise<ContactQuota> {
  const estimate = await estimates.forceFetch(ctx.workspaceId, { context: ctx })
  return estimate.limit > maxExact ? estimate : countContacts(ctx, await lockQuotas(ctx))
}

/** Throws `quota_exceeded` if the workspace may not have another contact. */
export async function requireContactQuota(ctx: Ctx): Promise<ContactQuota> {
  const quota = await readContactQuota(ctx)
  if (quota.used >= quota.limit) throw quotaExceeded('contacts', quota.limit)
  return quota
}

async function countContacts(ctx: Ctx, { contacts: limit }: Quotas): Promise<ContactQuota> {
  if (limit === Infinity) return { limit, used: 0 }
  const found = ctx.db
    .select({ one: sql`1`.as('one') })
    .from(contacts)
    .where(eq(contacts.workspaceId, ctx.workspaceId))
    .limit(limit)
    .as('found')
  return { limit, used: await ctx.db.$count(found) }
}
