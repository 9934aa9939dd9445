import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../context.ts'
import { contacts } from '../schema.ts'

const text = contacts.searchText

/**
 * The condition for what was searched for, wildcards taken literally, without regard to case and accents: who contains
 * it; where nobody in the workspace does, who contains each of its words; where nobody does, who contains all of its
 * words but one, and that one with a typo. To be called in the transaction that uses the condition, as it keeps the
 * planner, who cannot tell how rare a text is, from reading the whole table.
 */
export async function searchCondition(ctx: Ctx, search: string): Promise<SQL> {
  const wanted = await prepareSearch(ctx, search)
  const whole = contains(wanted)
  // Less than three letters are in no index: there is nothing cheaper than to look.
  if (wanted.length < 3 || (await anyoneIs(ctx, whole))) return whole
  // From here on few fit, which the planner cannot know either: it would walk along another index and test everyone.
  await ctx.db.execute(sql`select set_config('enable_indexscan', 'off', true)`)
  for (const condition of conditionsByWord(wanted)) if (await anyoneIs(ctx, condition)) return condition
  return whole
}

/** How well a contact fits what was searched for: the more of a word is alike, the better. */
export function searchRank(search: string): SQL<number> {
  return sql<number>`word_similarity(fold_text(${search}), ${text})::float8`
}

/** Answers what was searched for as `searchText` has it. */
async function prepareSearch(ctx: Ctx, search: string): Promise<string> {
  const result = await ctx.db.execute<{ wanted: string }>(
    sql`select set_config('enable_seqscan', 'off', true), fold_text(${search}) as wanted`,
  )
  return result.rows[0]?.wanted ?? search
}

const mostWords = 6

function* conditionsByWord(wanted: string): Generator<SQL> {
  const words = wanted.split(' ').filter(Boolean)
  if (words.length > mostWords) return
  if (words.length > 1) yield sql.join(words.map(contains), sql` and `)
  for (const word of words) {
    const patterns = typoPatterns(word)
    if (patterns.length === 0) continue
    const others = words.filter((other) => other !== word).map(contains)
    const oneOf = sql.join(
      patterns.map((pattern) => sql`${pattern}`),
      sql`, `,
    )
    yield sql.join([...others, sql`${text} like any(array[${oneOf}])`], sql` and `)
  }
}

const contains = (wanted: string) => sql`${text} like ${`%${literally(wanted)}%`}`
const literally = (wanted: string) => wanted.replace(/[\\%_]/g, '\\$&')

const longestWord = 32

/** What may have been meant, as patterns: with one letter left out, another in its place, one too few, or two swapped. */
function typoPatterns(word: string): string[] {
  const letters = Array.from(word, literally)
  if (letters.length > longestWord) return []
  const patterns = letters.flatMap((letter, index) => {
    const before = letters.slice(0, index).join('')
    const next = letters[index + 1] ?? ''
    const after = letters.slice(index + 2).join('')
    const atEdge = before === '' || next === ''
    // At the edges another letter, or one more, is like none: there is always something before and after.
    const inside = atEdge ? [] : [`${before}_${next}${after}`]
    const between = before === '' ? [] : [`${before}_${letter}${next}${after}`]
    return [`${before}${next}${after}`, `${before}${next}${letter}${after}`, ...inside, ...between]
  })
  // Without three letters in a row the index is of no help.
  return [...new Set(patterns)].filter((pattern) => /[\p{L}\p{N}]{3}/u.test(pattern)).map((pattern) => `%${pattern}%`)
}

async function anyoneIs(ctx: Ctx, condition: SQL): Promise<boolean> {
  const found = await ctx.db
    .select({ one: sql`1` })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), condition))
    .limit(1)
  return found.length > 0
}
