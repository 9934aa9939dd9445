import { LRUCache } from 'lru-cache'
import type { QuotaName } from '../kernel/quotas.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { readQuotas } from './require-quota.ts'

/** A change of a quota takes effect after this time. */
export const defaultQuotaTtlMs = 5_000

/** One quota of each workspace, for work that is too frequent to read it from the database each time. */
export interface QuotaCache {
  /** Reads the quota, or returns the value of the last seconds. If the database is away, the last known value. */
  read: (ctx: Ctx) => Promise<number>
  /** Returns the value that was read last; `Infinity` if none was. */
  peek: (workspaceId: WorkspaceId) => number
}

export function createQuotaCache(name: QuotaName, ttlMs = defaultQuotaTtlMs): QuotaCache {
  const cache = new LRUCache<WorkspaceId, number, Ctx>({
    max: 10_000,
    ttl: ttlMs,
    allowStale: true,
    allowStaleOnFetchRejection: true,
    fetchMethod: async (_workspaceId, _stale, { context }) => (await readQuotas(context))[name],
  })
  return {
    read: async (ctx) => (await cache.fetch(ctx.workspaceId, { context: ctx })) ?? Infinity,
    peek: (workspaceId) => cache.peek(workspaceId, { allowStale: true }) ?? Infinity,
  }
}
