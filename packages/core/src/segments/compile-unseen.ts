import type { SQL } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { compileFilter, type FilterOptions } from './compile-filter.ts'
import type { Filter } from './filter.schema.ts'

/** A filter as conditions. `possible` is undefined if the filter asks for nothing that may be unseen. */
export interface CompiledFilter {
  matching: SQL
  /** Also true for the contacts that the filter leaves out only because an open or a click of theirs may be unseen. */
  possible: SQL | undefined
}

export async function compileWithUnseen(
  ctx: Ctx,
  filter: Filter,
  options: FilterOptions = {},
): Promise<CompiledFilter> {
  const given = { now: new Date(), ...options }
  const matching = await compileFilter(ctx, filter, given)
  if (!asksForUnseen(filter)) return { matching, possible: undefined }
  return { matching, possible: await compileFilter(ctx, filter, { ...given, matchesUnseen: true }) }
}

function asksForUnseen(filter: Filter, isNegated = false): boolean {
  if ('all' in filter) return filter.all.some((inner) => asksForUnseen(inner, isNegated))
  if ('any' in filter) return filter.any.some((inner) => asksForUnseen(inner, isNegated))
  if ('not' in filter) return asksForUnseen(filter.not, !isNegated)
  return isNegated && 'campaign' in filter && filter.did !== 'receive'
}
