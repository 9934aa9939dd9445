/**
 * How many mails visitors can cause. The budget for confirmations follows what people do with them: a link that was used
 * shows that its mail was wanted, and allows five more for a week. So a launch is not delayed for long, and a flood to
 * addresses of others stays at the quota.
 */
import { sql } from 'drizzle-orm'
import { type requestedMailKinds, visitorMails } from '../../db/schema/index.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { arrayOf, int, text, timestamptz } from '../../db/statements/sql-types.ts'
import type { QuotaName, Quotas } from '../../kernel/quotas.ts'
import type { Ctx } from '../../request/context.ts'
import { timestampNow, type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'

export interface MailBudget {
  quota: Extract<QuotaName, 'confirmations' | 'personalDataMails'>
  kinds: readonly (typeof requestedMailKinds)[number][]
  /** How many more mails a used link allows. */
  perUsedLink: number
}

export const mailBudgets: readonly MailBudget[] = [
  { quota: 'confirmations', kinds: ['CONFIRMATION', 'TRACKING_CONSENT'], perUsedLink: 5 },
  { quota: 'personalDataMails', kinds: ['PERSONAL_DATA'], perUsedLink: 0 },
]

const dayMs = 24 * 60 * 60 * 1000
/** Counted mails, and how long a mail waits at most. */
export const getDayBefore = (now: Timestamp) => timestampAt(Date.parse(now) - dayMs)
const getWeekBefore = (now: Timestamp) => timestampAt(Date.parse(now) - 7 * dayMs)

/** Whether the workspace has a budget for mails of the kind. */
export const hasBudget = (quotas: Quotas, kind: MailBudget['kinds'][number]): boolean =>
  mailBudgets.some((budget) => budget.kinds.includes(kind) && quotas[budget.quota] !== Infinity)

/** Returns how many mails may be released now. Exact while the caller's transaction has locked the budget. */
export async function readBudget(ctx: Ctx, budget: MailBudget, { limit, now }: { limit: number; now: Timestamp }) {
  if (limit === Infinity) return Infinity
  const [used] = await countUse(ctx.db, {
    workspaceId: ctx.workspaceId,
    kinds: [...budget.kinds],
    dayBefore: getDayBefore(now),
    weekBefore: getWeekBefore(now),
  })
  return Math.max(0, limit + budget.perUsedLink * (used?.usedLinks ?? 0) - (used?.releases ?? 0))
}

/** Counts the mails of the last 24 hours that a budget counts now. */
export async function countReleases(ctx: Ctx, quota: MailBudget['quota']): Promise<number> {
  const now = timestampNow()
  const kinds = mailBudgets.flatMap((budget) => (budget.quota === quota ? budget.kinds : []))
  const moments = { dayBefore: getDayBefore(now), weekBefore: getWeekBefore(now) }
  const [used] = await countUse(ctx.db, { workspaceId: ctx.workspaceId, kinds, ...moments })
  return used?.releases ?? 0
}

const countUse = namedStatement('count released mails and used links', {
  params: {
    workspaceId: visitorMails.workspaceId,
    kinds: arrayOf(text),
    dayBefore: timestamptz,
    weekBefore: timestamptz,
  },
  columns: { releases: int, usedLinks: int },
  sql: ({ workspaceId, kinds, dayBefore, weekBefore }) => sql`
    select coalesce(sum(releases) filter (where released_at > ${dayBefore}), 0)::int as releases,
      (count(*) filter (where used_at > ${weekBefore}))::int as used_links
    from visitor_mails
    where workspace_id = ${workspaceId} and kind = any(${kinds})
      and (released_at > ${dayBefore} or used_at > ${weekBefore})`,
})
