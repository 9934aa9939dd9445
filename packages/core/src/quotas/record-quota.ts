/**
 * Quotas of records of which a workspace may have millions. Up to 10,000, a quota is exact: the records are counted for
 * each new one. Counting millions would be slow, so for a larger quota each process counts once a minute and adds the
 * records that it creates.
 */
import { eq, sql } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { LRUCache } from 'lru-cache'
import { companies, contacts } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { QuotaName, Quotas } from '../kernel/quotas.ts'
import type { Ctx } from '../request/context.ts'
import { lockQuotas, quotaExceeded, readQuotas } from './require-quota.ts'

const maxExact = 10_000

interface Use {
  limit: number
  /** Callers add the records that they create. */
  used: number
}

interface RecordQuota {
  /** Whether records must be created in a transaction, because it locks the quota. */
  isExact: (ctx: Ctx) => Promise<boolean>
  /** Locks an exact quota until the caller's transaction ends. To prevent deadlocks, records are locked afterwards. */
  read: (ctx: Ctx) => Promise<Use>
  /** Throws `quota_exceeded` if the workspace may not have another record. */
  require: (ctx: Ctx) => Promise<Use>
}

export function recordQuota(name: QuotaName, table: AnyPgTable & { workspaceId: AnyPgColumn }): RecordQuota {
  const count = async (ctx: Ctx, { [name]: limit }: Quotas): Promise<Use> => {
    if (limit === Infinity) return { limit, used: 0 }
    const found = ctx.db
      .select({ one: sql`1`.as('one') })
      .from(table)
      .where(eq(table.workspaceId, ctx.workspaceId))
      .limit(limit)
      .as('found')
    return { limit, used: await ctx.db.$count(found) }
  }
  const estimates = new LRUCache<WorkspaceId, Use, Ctx>({
    max: 10_000,
    ttl: 60_000,
    // Concurrent requests share one count.
    fetchMethod: async (_workspaceId, _stale, { context }) => count(context, await readQuotas(context)),
  })
  const read = async (ctx: Ctx): Promise<Use> => {
    const estimate = await estimates.forceFetch(ctx.workspaceId, { context: ctx })
    return estimate.limit > maxExact ? estimate : count(ctx, await lockQuotas(ctx))
  }
  return {
    isExact: async (ctx) => (await estimates.forceFetch(ctx.workspaceId, { context: ctx })).limit <= maxExact,
    read,
    require: async (ctx) => {
      const use = await read(ctx)
      if (use.used >= use.limit) throw quotaExceeded(name, use.limit)
      return use
    },
  }
}

export const contactQuota = recordQuota('contacts', contacts)
export const companyQuota = recordQuota('companies', companies)
