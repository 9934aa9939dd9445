/**
 * Quotas of records of which a workspace may have millions. Up to 10,000, a quota is exact: the records are counted for
 * each new one. Counting millions would be slow, so for a larger quota each process counts once a minute and adds the
 * records that it creates, once they are committed.
 */
import { eq, sql } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { LRUCache } from 'lru-cache'
import { companies, contacts } from '../db/schema/index.ts'
import { afterCommit, countBeforeCommit } from '../db/transaction.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { QuotaName, Quotas } from '../kernel/quotas.ts'
import type { Ctx } from '../request/context.ts'
import { lockQuotas, quotaExceeded, readQuotas } from './require-quota.ts'

const maxExact = 10_000

interface Use {
  limit: number
  used: number
}

interface RecordQuota {
  /** Whether records must be created in a transaction, because it locks the quota. */
  isExact: (ctx: Ctx) => Promise<boolean>
  /** Locks an exact quota until the caller's transaction ends. To prevent deadlocks, records are locked afterwards. */
  read: (ctx: Ctx) => Promise<Use>
  /** Adds records that the caller has created: to `use` and in the transaction at once, for others after the commit. */
  add: (ctx: Ctx, use: Use, count: number) => void
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
  const keyOf = ({ workspaceId }: Ctx) => `${name} of ${workspaceId}`
  const read = async (ctx: Ctx): Promise<Use> => {
    const estimate = await estimates.forceFetch(ctx.workspaceId, { context: ctx })
    if (estimate.limit <= maxExact) return count(ctx, await lockQuotas(ctx))
    return { limit: estimate.limit, used: estimate.used + countBeforeCommit(ctx.db, keyOf(ctx)) }
  }
  return {
    isExact: async (ctx) => (await estimates.forceFetch(ctx.workspaceId, { context: ctx })).limit <= maxExact,
    read,
    add: (ctx, use, added) => {
      use.used += added
      const total = countBeforeCommit(ctx.db, keyOf(ctx)) + added
      const addTotal = () => {
        const estimate = estimates.peek(ctx.workspaceId)
        if (estimate) estimate.used += total
      }
      afterCommit(ctx.db, keyOf(ctx), Object.assign(addTotal, { count: total }))
    },
    require: async (ctx) => {
      const use = await read(ctx)
      if (use.used >= use.limit) throw quotaExceeded(name, use.limit)
      return use
    },
  }
}

export const contactQuota = recordQuota('contacts', contacts)
export const companyQuota = recordQuota('companies', companies)
