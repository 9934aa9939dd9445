/**
 * The quotas of emails from templates. Counting thousands of rows for each email would be slow: each process counts every
 * five seconds, and adds the emails that it accepts. Once so much is used that what other processes accept meanwhile could
 * exceed the quota, each email is counted exactly, and concurrent callers wait for each other.
 */
import { and, eq } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { emails } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import { countEmailsOfDay, readEmailWait } from '../mail/mail-quotas.ts'
import { createQuotaCache } from '../quotas/quota-cache.ts'
import { lockQuotas, quotaExceeded, readQuotas } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'

export { countEmailsOfDay }

/** Counts the emails that are not sent yet. */
export function countPendingEmails(ctx: Ctx): Promise<number> {
  return ctx.db.$count(emails, and(eq(emails.workspaceId, ctx.workspaceId), eq(emails.status, 'PENDING')))
}

const quotas = {
  emails: { count: countEmailsOfDay, readWait: readEmailWait },
  // Emails of an hour are sent within minutes.
  emailsPending: { count: countPendingEmails, readWait: () => Promise.resolve(60) },
} as const
type Name = keyof typeof quotas
const names = Object.keys(quotas) as Name[]

interface Estimate {
  limit: number
  used: number
}

const ttlMs = 5_000
/** What all processes may accept in that time before a quota is exceeded. A quota up to the minimum is always exact. */
const reserveOf = (limit: number) => Math.min(Math.max(limit / 2, 1_000), 10_000)
const isNearLimit = ({ limit, used }: Estimate, added: number) =>
  limit !== Infinity && used + added > limit - reserveOf(limit)

const createEstimates = (name: Name) =>
  new LRUCache<WorkspaceId, Estimate, Ctx>({
    max: 10_000,
    ttl: ttlMs,
    // Concurrent requests share one count.
    fetchMethod: async (_workspaceId, _stale, { context }) => {
      const { [name]: limit } = await readQuotas(context)
      return { limit, used: limit === Infinity ? 0 : await quotas[name].count(context) }
    },
  })
const estimates = { emails: createEstimates('emails'), emailsPending: createEstimates('emailsPending') }
const readEstimate = (ctx: Ctx, name: Name) => estimates[name].forceFetch(ctx.workspaceId, { context: ctx })

/**
 * Throws `quota_exceeded` if the workspace may not accept another email. `taken`: those that the transaction has taken,
 * and not inserted yet.
 */
export async function requireEmailQuotas(ctx: Ctx, taken = 0): Promise<void> {
  for (const name of names) {
    const estimate = await readEstimate(ctx, name)
    const isNear = isNearLimit(estimate, 1)
    estimate.used += 1
    if (isNear) await requireExactly(ctx, name, taken)
  }
}

/** Locks the quotas if `requireEmailQuotas` would, for one of so many emails. Call it before contacts are locked. */
export async function lockEmailQuotas(ctx: Ctx, count: number): Promise<void> {
  for (const name of names) {
    if (isNearLimit(await readEstimate(ctx, name), count)) await lockQuotas(ctx)
  }
}

async function requireExactly(ctx: Ctx, name: Name, taken: number): Promise<void> {
  const { [name]: limit } = await lockQuotas(ctx)
  const { count, readWait } = quotas[name]
  if (limit !== Infinity && (await count(ctx)) + taken >= limit)
    throw quotaExceeded(name, limit, await readWait(ctx, limit))
}

/** The quota of one address. */
export const emailsPerAddress = createQuotaCache('emailsPerAddress')
