import { count, type SQL, sql } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import type { Ctx } from '../../request/context.ts'

/** A bounded count: it reads no more than so many contacts, however many match. */
const maxExact = 10_000

export interface ContactCount {
  total: number
  isEstimate: boolean
}

/** Counts the contacts that match a condition: exactly up to 10,000, then by the planner's estimate. */
export async function countContacts(ctx: Ctx, where: SQL | undefined): Promise<ContactCount> {
  const matches = ctx.db
    .select({ one: sql`1`.as('one') })
    .from(contacts)
    .where(where)
    .limit(maxExact + 1)
    .as('matches')
  const [{ total } = { total: 0 }] = await ctx.db.select({ total: count() }).from(matches)
  if (total <= maxExact) return { total, isEstimate: false }
  return { total: Math.max(total, await estimateContacts(ctx, where)), isEstimate: true }
}

interface Plan {
  'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }]
}

/** The planner plans with the values of the filters, so it knows which of them are common. */
async function estimateContacts(ctx: Ctx, where: SQL | undefined): Promise<number> {
  const { rows } = await ctx.db.execute<Plan & Record<string, unknown>>(
    sql`explain (format json) select from ${contacts} where ${where}`,
  )
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}
