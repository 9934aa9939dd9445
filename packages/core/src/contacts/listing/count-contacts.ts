import { type SQL, sql } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import { type BoundedCount, countOrEstimate } from '../../request/count-or-estimate.ts'
import type { Ctx } from '../../request/context.ts'

export type ContactCount = BoundedCount

/** Counts the contacts that match a condition: exactly up to 10,000, then by the planner's estimate. */
export function countContacts(ctx: Ctx, where: SQL | undefined): Promise<ContactCount> {
  return countOrEstimate(ctx.db, where ? sql`${contacts} where ${where}` : sql`${contacts}`)
}
