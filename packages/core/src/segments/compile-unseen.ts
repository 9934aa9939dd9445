import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { compileFilter } from './compile-filter.ts'
import type { Filter } from './filter.schema.ts'

/**
 * Returns the condition for the contacts that a filter leaves out only because an open or a click of theirs may be
 * unseen. Undefined if the filter asks for nothing that may be unseen.
 */
export async function compileUnseen(
  ctx: Ctx,
  filter: Filter,
  options: { checksOptions?: boolean } = {},
): Promise<SQL | undefined> {
  if (!asksForUnseen(filter)) return undefined
  const now = new Date()
  const matching = await compileFilter(ctx, filter, { ...options, now })
  const possible = await compileFilter(ctx, filter, { ...options, now, matchesUnseen: true })
  return sql`(${possible}) and (${matching}) is not true`
}

function asksForUnseen(filter: Filter, isNegated = false): boolean {
  if ('all' in filter) return filter.all.some((inner) => asksForUnseen(inner, isNegated))
  if ('any' in filter) return filter.any.some((inner) => asksForUnseen(inner, isNegated))
  if ('not' in filter) return asksForUnseen(filter.not, !isNegated)
  return isNegated && 'campaign' in filter && filter.did !== 'receive'
}
