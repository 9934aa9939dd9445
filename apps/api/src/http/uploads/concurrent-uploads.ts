import { createFairSlots } from '@rapport/core/kernel/concurrency/fair-slots.ts'
import { createQuotaCache } from '@rapport/core/quotas/quota-cache.ts'
import { quotaExceeded } from '@rapport/core/quotas/require-quota.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { ApiTimings } from '../server/api-timings.ts'

/** Runs `receive` unless the workspace has too many uploads under way. */
export type LimitUploads = <Result>(ctx: Ctx, receive: () => Promise<Result>) => Promise<Result>

const uploadWaitSeconds = 30

/**
 * Limits the concurrent uploads of each workspace in this process to its quota `imports`, and throws `quota_exceeded`
 * for further ones. The database counts an import once its first part is stored: until then the part is in memory, and
 * a repeated upload is never stored.
 */
export function createUploadLimit({ quotaTtlMs }: Pick<ApiTimings, 'quotaTtlMs'>): LimitUploads {
  const quota = createQuotaCache('imports', quotaTtlMs)
  const slots = createFairSlots(Infinity, quota.peek)
  return async (ctx, receive) => {
    const limit = await quota.read(ctx)
    if (!slots.tryAcquire(ctx.workspaceId)) throw quotaExceeded('imports', limit, uploadWaitSeconds)
    try {
      return await receive()
    } finally {
      slots.release(ctx.workspaceId)
    }
  }
}
