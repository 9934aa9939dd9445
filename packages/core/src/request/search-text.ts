/**
 * Finds records by patterns that allow a typo, which the trigram index of `search_text` serves, for speed: with the
 * similarity operator `%>` of pg_trgm, ordered by `word_similarity`, a search with a typo takes 3 to 19 times as long
 * on a million contacts (searches of the benchmark `listings`, 2026-11-25), because every contact that shares half of
 * the trigrams is read and ranked. For swapped letters, `%>` finds nothing or too much: "jonh" is as similar to "Joel"
 * as to "John". `list-contacts.int.test.ts` covers the results and the plans.
 */
import { eq, getTableName, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, text } from '../db/statements/sql-types.ts'
import { toAsciiDomains } from '../kernel/validation.ts'
import { escapeLike } from '../kernel/values/encode-text.ts'
import { toNormalForm } from '../kernel/values/text.ts'
import type { Ctx } from './context.ts'

/** A table whose `search_text` has a trigram index. */
type Searched = AnyPgTable & Record<'workspaceId' | 'searchText', AnyPgColumn>

/**
 * Builds the search condition. It ignores case and accents and takes wildcards literally. The result is the first of
 * these conditions that matches a record of the workspace: the whole text; every word; every word, one of them with a
 * typo; every word, each with at most one typo. Call it in the transaction that uses the condition: it disables table
 * scans there, because the planner cannot estimate how rare a text is.
 */
export async function searchCondition(ctx: Ctx, table: Searched, search: string): Promise<SQL> {
  const { searchText } = table
  const terms = await prepareSearch(ctx, search)
  const whole = contains(searchText, terms.whole)
  // The index cannot serve fewer than three letters: a check would cost as much as the search itself.
  if (
    terms.whole.some((spelling) => spelling.length < 3) ||
    (await hasMatch(ctx, table, { condition: whole, limit: sampleSize }))
  )
    return whole
  // Few records match from here on, so walking an index and testing every row would be slow.
  await ctx.db.execute(sql`select set_config('enable_indexscan', 'off', true)`)
  for (const condition of [whole, ...conditionsByWord(searchText, terms.words)])
    if (await hasMatch(ctx, table, { condition })) return condition
  return whole
}

/** The relevance of a record: the similarity between the search and the best matching part of its text. */
export function searchRank({ searchText }: Searched, search: string): SQL<number> {
  return sql<number>`word_similarity(fold_text(${search}), ${searchText})::float8`
}

/** The whole search and each of its words, each in all spellings that `searchText` may contain. */
interface SearchTerms {
  whole: string[]
  words: string[][]
}

async function prepareSearch(ctx: Ctx, search: string): Promise<SearchTerms> {
  const texts = [search, ...search.split(/\s+/).filter(Boolean)].map(spellings)
  const [result] = await foldTexts(ctx.db, { texts: texts.flat() })
  const folded = [...(result?.folded ?? [])]
  const [whole = [], ...words] = texts.map((spelled) => folded.splice(0, spelled.length))
  return { whole, words }
}

const foldTexts = namedStatement('prepare a search', {
  params: { texts: arrayOf(text) },
  columns: { setting: text, folded: arrayOf(text) },
  sql: ({ texts }) => sql`
    select set_config('enable_seqscan', 'off', true) as setting, array(
      select fold_text(text) from unnest(${texts}) with ordinality as texts (text, position) order by position) as folded`,
})

const umlauts: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe' }

/**
 * Returns the spellings of a text with umlauts: "Müller" also finds "Mueller", and vice versa. Folding stores both "ü"
 * and "u" as "u", so a search for "mueller" also tries "muller". Only words of at least five letters are shortened this
 * way; shorter ones would match too much. Addresses have international domains in ASCII.
 */
function spellings(text: string): string[] {
  const lowered = toNormalForm(text).toLowerCase()
  const withAsciiDomain = /[@.]/.test(lowered) ? toAsciiDomains(lowered) : lowered
  const expanded = lowered.replace(/[äöüø]/g, (letter) => umlauts[letter] ?? letter)
  const contracted = lowered.replace(/\S{5,}/g, (word) => word.replace(/([aou])e/g, '$1'))
  return [...new Set([lowered, expanded, contracted, withAsciiDomain])]
}

const maxWords = 6

function* conditionsByWord(column: AnyPgColumn, words: string[][]): Generator<SQL> {
  if (words.length > maxWords) return
  if (words.length > 1)
    yield sql.join(
      words.map((word) => contains(column, word)),
      sql` and `,
    )
  const withTypo = words.map((spellings) => isLikeAny(column, spellings.flatMap(typoPatterns)))
  for (const [index, oneTypo] of withTypo.entries()) {
    if (!oneTypo) continue
    const others = words.filter((_, other) => other !== index).map((word) => contains(column, word))
    yield sql.join([...others, oneTypo], sql` and `)
  }
  if (withTypo.filter(Boolean).length > 1) yield eachWithTypo(column, words)
}

/**
 * Only the longest word uses the index. If every word did, PostgreSQL would search it for every combination of their
 * patterns.
 */
function eachWithTypo(column: AnyPgColumn, words: string[][]): SQL {
  const longestFirst = words.toSorted(([one = ''], [other = '']) => other.length - one.length)
  const patternsByWord = longestFirst.map((spellings) => [
    ...spellings.map(toPattern),
    ...spellings.flatMap(typoPatterns),
  ])
  return sql.join(
    patternsByWord.map(
      (patterns, index) => isLikeAny(index === 0 ? column : sql`(${column} || '')`, patterns) ?? sql`true`,
    ),
    sql` and `,
  )
}

const toPattern = (spelling: string) => `%${escapeLike(spelling)}%`
const contains = (column: SQLWrapper, spellings: string[]): SQL =>
  isLikeAny(column, spellings.map(toPattern)) ?? sql`true`

function isLikeAny(column: SQLWrapper, patterns: string[]): SQL | undefined {
  if (patterns.length < 2) return patterns.length === 0 ? undefined : sql`${column} like ${patterns[0]}`
  const list = sql.join(
    patterns.map((pattern) => sql`${pattern}`),
    sql`, `,
  )
  return sql`${column} like any(array[${list}])`
}

const maxWordLength = 32

/** Patterns that tolerate one typo: an extra letter, a wrong letter, a missing letter, or two swapped letters. */
function typoPatterns(word: string): string[] {
  const letters = Array.from(word, escapeLike)
  if (letters.length > maxWordLength) return []
  const patterns = letters.flatMap((letter, index) => {
    const before = letters.slice(0, index).join('')
    const next = letters[index + 1] ?? ''
    const after = letters.slice(index + 2).join('')
    const atEdge = before === '' || next === ''
    // At the edges, the surrounding `%` already covers a wrong or missing letter.
    const inside = atEdge ? [] : [`${before}_${next}${after}`]
    const between = before === '' ? [] : [`${before}_${letter}${next}${after}`]
    return [`${before}${next}${after}`, `${before}${next}${letter}${after}`, ...inside, ...between]
  })
  // The index needs three consecutive letters.
  return [...new Set(patterns)].filter((pattern) => /[\p{L}\p{N}]{3}/u.test(pattern)).map((pattern) => `%${pattern}%`)
}

/** Sample size: large enough to find a text that one in a hundred records contains, small enough to read quickly. */
const sampleSize = 1_000

interface Sample {
  condition: SQL
  limit?: number
}

/** Whether any record of the workspace matches the condition, or any of its first `limit` records. */
async function hasMatch(ctx: Ctx, table: Searched, { condition, limit }: Sample): Promise<boolean> {
  const all = ctx.db.select({ searchText: table.searchText }).from(table).where(eq(table.workspaceId, ctx.workspaceId))
  const candidates = limit === undefined ? all : all.limit(limit)
  const found = await ctx.db
    .select({ one: sql`1` })
    .from(candidates.as(getTableName(table)))
    .where(condition)
    .limit(1)
  return found.length > 0
}
