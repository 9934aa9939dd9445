/**
 * The quotas of emails from templates. Counting thousands of rows for each email would be slow: each process counts every
 * five seconds, and adds the emails that it is asked for. Once so much is used that what other processes accept meanwhile
 * could exceed the quota, each transaction counts exactly, and concurrent ones wait for each other.
 */
import { and, eq, inArray } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { emails, templates } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import { countEmailsOfDay, readEmailWait } from '../mail/mail-quotas.ts'
import { createQuotaCache } from '../quotas/quota-cache.ts'
import { lockQuotas, quotaExceeded, readQuotas } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'

/**
 * Counts the emails that are not sent yet, without those of PAUSED templates: these wait for a user, and a PAUSED template
 * accepts no more.
 */
export function countPendingEmails({ db, workspaceId }: Ctx): Promise<number> {
  const active = db
    .select({ id: templates.id })
    .from(templates)
    .where(and(eq(templates.workspaceId, workspaceId), eq(templates.status, 'ACTIVE')))
  const isPending = and(eq(emails.workspaceId, workspaceId), eq(emails.status, 'PENDING'))
  return db.$count(emails, and(isPending, inArray(emails.templateId, active)))
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

type Take = () => Promise<void>

/**
 * Returns a function that takes one of so many emails, or throws `quota_exceeded`. Near a quota, the transaction locks it:
 * call this before contacts are locked.
 */
export async function openEmailQuotas(ctx: Ctx, added: number): Promise<Take> {
  const near: Name[] = []
  for (const name of names) {
    const estimate = await readEstimate(ctx, name)
    if (isNearLimit(estimate, added)) near.push(name)
    estimate.used += added
  }
  if (near.length === 0) return async () => {}
  const limits = await lockQuotas(ctx)
  const takes: Take[] = []
  for (const name of near) takes.push(await openQuota(ctx, name, limits[name]))
  return async () => {
    for (const take of takes) await take()
  }
}

/** Counts once: while the quotas are locked, only the caller accepts emails. */
async function openQuota(ctx: Ctx, name: Name, limit: number): Promise<Take> {
  const { count, readWait } = quotas[name]
  let free = limit === Infinity ? Infinity : limit - (await count(ctx))
  let wait: number | undefined
  return async () => {
    if (free <= 0) throw quotaExceeded(name, limit, (wait ??= await readWait(ctx, limit)))
    free -= 1
  }
}

/** The quota of one address. */
export const emailsPerAddress = createQuotaCache('emailsPerAddress')
