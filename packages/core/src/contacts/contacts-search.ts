import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../context.ts'
import { contacts, searchText } from '../schema.ts'

const text = searchText(contacts)

/** How alike a word must be, most alike first. Below the last, short names with a typo would be lost in noise. */
const similarities = [0.6, 0.4]

/**
 * Lets this transaction search: pg_trgm reads from a setting how alike is alike enough, and the planner, who cannot tell
 * how many that is, is kept from reading the whole table.
 */
async function prepareSearch(ctx: Ctx, similarity: number): Promise<void> {
  await ctx.db.execute(sql`
    select set_config('pg_trgm.word_similarity_threshold', ${String(similarity)}, true),
      set_config('enable_seqscan', 'off', true)`)
}

/** What a transaction needs that uses a condition which another one made. */
export const searchSettings = `set local pg_trgm.word_similarity_threshold = ${similarities.at(-1)}`

/**
 * The condition for what was searched for, to be used in this same transaction or one with `searchSettings`. Who
 * contains it, wildcards taken literally; where nobody in the workspace does, who has a word much like it, as it may
 * hold a typo.
 */
export async function searchCondition(ctx: Ctx, search: string): Promise<SQL> {
  const wanted = search.toLowerCase()
  const contains = sql`${text} like ${`%${wanted.replace(/[\\%_]/g, '\\$&')}%`}`
  await prepareSearch(ctx, similarities[0] ?? 1)
  // Less than three letters make no trigram to be alike in.
  if (wanted.length < 3 || (await anyoneIs(ctx, contains))) return contains
  for (const similarity of similarities) {
    await prepareSearch(ctx, similarity)
    const isAlike = sql`(${wanted} <% ${text} and word_similarity(${wanted}, ${text}) >= ${similarity})`
    if (await anyoneIs(ctx, isAlike)) return isAlike
  }
  return contains
}

/** How well a contact fits what was searched for: the more of a word is alike, the better. */
export function searchRank(search: string): SQL<number> {
  return sql<number>`word_similarity(${search.toLowerCase()}, ${text})::float8`
}

async function anyoneIs(ctx: Ctx, condition: SQL): Promise<boolean> {
  const found = await ctx.db
    .select({ one: sql`1` })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), condition))
    .limit(1)
  return found.length > 0
}
