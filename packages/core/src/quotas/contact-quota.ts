/**
 * The quota of contacts. Counting millions of contacts for each new one would be slow, so each process counts rarely,
 * and then allows a part of what is left without counting again. With several processes, a large quota can therefore be
 * exceeded by a thousandth for each process.
 */
import { eq, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { contacts } from '../db/schema/index.ts'
import type { AppError } from '../kernel/errors.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { quotaExceeded, readQuotas } from './require-quota.ts'

/** Up to this quota, counting is fast. */
const smallQuota = 10_000
const countedForMs = 60_000
/** How long a count is not repeated: the contacts that are being created at its time are committed then. */
const minCountAgeMs = { small: 1_000, large: 10_000 }

interface Allowance {
  /** How many contacts this process may create before it counts again. */
  left: number
  /** When to count again if none is left, by `performance.now()`. */
  countableAt: number
}

const allowances = new LRUCache<WorkspaceId, Allowance, Ctx>({
  max: 10_000,
  ttl: countedForMs,
  // Concurrent requests share one count.
  fetchMethod: (_workspaceId, _stale, { context }) => countAllowance(context),
})

/** Throws `quota_exceeded` if the workspace may not have another contact. Takes nothing of the quota. */
export async function requireContactQuota(ctx: Ctx): Promise<void> {
  const taken = await takeContactQuota(ctx, 1)
  if (taken.count < 1) throw await contactQuotaExceeded(ctx)
  taken.release(1)
}

/** A part of the quota, for contacts that are about to be created. */
export interface TakenContactQuota {
  count: number
  /** Gives back what was not needed, because the contacts exist already. */
  release(count: number): void
}

/** Takes the quota for up to `wanted` new contacts: as much as is left. */
export async function takeContactQuota(ctx: Ctx, wanted: number): Promise<TakenContactQuota> {
  const known = await allowances.fetch(ctx.workspaceId, { context: ctx })
  if (known && (known.left >= wanted || known.countableAt > performance.now())) return takeFrom(known, wanted)
  const counted = await allowances.fetch(ctx.workspaceId, { context: ctx, forceRefresh: true })
  return takeFrom(counted ?? { left: 0 }, wanted)
}

export async function contactQuotaExceeded(ctx: Ctx): Promise<AppError> {
  return quotaExceeded('contacts', (await readQuotas(ctx)).contacts)
}

function takeFrom(allowance: Pick<Allowance, 'left'>, wanted: number): TakenContactQuota {
  const count = Math.max(0, Math.min(Math.floor(allowance.left), wanted))
  allowance.left -= count
  return { count, release: (unused) => void (allowance.left += unused) }
}

async function countAllowance(ctx: Ctx): Promise<Allowance> {
  const { contacts: limit } = await readQuotas(ctx)
  if (limit === Infinity) return { left: Infinity, countableAt: 0 }
  const found = ctx.db
    .select({ one: sql`1`.as('one') })
    .from(contacts)
    .where(eq(contacts.workspaceId, ctx.workspaceId))
    .limit(limit)
    .as('found')
  const left = limit - (await ctx.db.$count(found))
  const now = performance.now()
  if (limit <= smallQuota) return { left, countableAt: now + minCountAgeMs.small }
  // An import adds a thousand contacts at once.
  const part = Math.min(left, Math.max(left / 8, limit / 1000, 1000))
  return { left: part, countableAt: now + (left === 0 ? minCountAgeMs.large : 0) }
}
