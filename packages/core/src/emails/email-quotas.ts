/**
 * The quotas of emails from templates. Counting thousands of rows for each email would be slow: each process counts every
 * five seconds, and adds the emails that it accepts. Once little of a quota is left, each email is counted exactly, and
 * concurrent callers wait for each other.
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

interface Estimate {
  limit: number
  used: number
}

const ttlMs = 5_000
/** How much of a quota is left when each email is counted: more than is accepted at once, and uncommitted. */
const exactWithin = (limit: number) => Math.max(limit / 10, 200)

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

/** Throws `quota_exceeded` if the workspace may not accept another email. Call it before a contact is locked. */
export async function requireEmailQuotas(ctx: Ctx): Promise<void> {
  for (const name of Object.keys(quotas) as Name[]) {
    const estimate = await estimates[name].forceFetch(ctx.workspaceId, { context: ctx })
    const { limit } = estimate
    estimate.used += 1
    if (limit !== Infinity && estimate.used > limit - exactWithin(limit)) await requireExactly(ctx, name)
  }
}

async function requireExactly(ctx: Ctx, name: Name): Promise<void> {
  const { [name]: limit } = await lockQuotas(ctx)
  const { count, readWait } = quotas[name]
  if (limit !== Infinity && (await count(ctx)) >= limit) throw quotaExceeded(name, limit, await readWait(ctx, limit))
}

/** The quota of one address. */
export const emailsPerAddress = createQuotaCache('emailsPerAddress')
