import { eq, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import type { Ctx } from '../../request/context.ts'
import { contacts } from '../../db/schema/index.ts'

const text = contacts.searchText

/**
 * The condition for what was searched for, wildcards taken literally, without regard to case and accents: who contains
 * it; where nobody in the workspace does, who contains each of its words; where nobody does, who contains all of its
 * words but one, and that one with a typo; at last, who contains each word with a typo at most. To be called in the
 * transaction that uses the condition, as it keeps the planner, who cannot tell how rare a text is, from reading the
 * whole table.
 */
export async function searchCondition(ctx: Ctx, search: string): Promise<SQL> {
  const terms = await prepareSearch(ctx, search)
  const whole = contains(terms.whole)
  // Less than three letters are in no index: there is nothing cheaper than to look.
  if (terms.whole.some((spelling) => spelling.length < 3) || (await hasMatch(ctx, whole, sampleSize))) return whole
  // From here on few fit, which the planner cannot know either: it would walk along another index and test everyone.
  await ctx.db.execute(sql`select set_config('enable_indexscan', 'off', true)`)
  for (const condition of [whole, ...conditionsByWord(terms.words)])
    if (await hasMatch(ctx, condition)) return condition
  return whole
}

/** How well a contact fits what was searched for: the more of a word is alike, the better. */
export function searchRank(search: string): SQL<number> {
  return sql<number>`word_similarity(fold_text(${search}), ${text})::float8`
}

/** What is searched for as `searchText` may have it: the whole, and each of its words, in one spelling or several. */
interface SearchTerms {
  whole: string[]
  words: string[][]
}

async function prepareSearch(ctx: Ctx, search: string): Promise<SearchTerms> {
  const texts = [search, ...search.split(/\s+/).filter(Boolean)].map(spellings)
  const result = await ctx.db.execute<{ folded: string[] }>(sql`
    select set_config('enable_seqscan', 'off', true),
      array(select fold_text(text) from unnest(${sql.param(texts.flat())}::text[]) with ordinality as given (text, place) order by place) as folded`)
  const folded = result.rows[0]?.folded ?? []
  const [whole = [], ...words] = texts.map((spelled) => folded.splice(0, spelled.length))
  return { whole, words }
}

const umlauts: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe' }

/**
 * Müller is Mueller, and the other way round. Folding leaves "muller" of both the letter and a bare u, so what is stored
 * does not tell; in what is searched for, two vowels may be one in words that are long enough not to be in every other.
 */
function spellings(text: string): string[] {
  const lowered = text.normalize('NFC').toLowerCase()
  const expanded = lowered.replace(/[äöüø]/g, (letter) => umlauts[letter] ?? letter)
  const contracted = lowered.replace(/\S{5,}/g, (word) => word.replace(/([aou])e/g, '$1'))
  return [...new Set([lowered, expanded, contracted])]
}

const maxWords = 6

function* conditionsByWord(words: string[][]): Generator<SQL> {
  if (words.length > maxWords) return
  if (words.length > 1) yield sql.join(words.map(contains), sql` and `)
  const withTypo = words.map((spellings) => isLikeAny(spellings.flatMap(typoPatterns)))
  for (const [index, oneTypo] of withTypo.entries()) {
    if (!oneTypo) continue
    const others = words.filter((_, other) => other !== index).map(contains)
    yield sql.join([...others, oneTypo], sql` and `)
  }
  if (withTypo.filter(Boolean).length > 1) yield eachWithTypo(words)
}

/** By the index for the longest word alone: of several such lists it would look for each one's every pattern with each of the others'. */
function eachWithTypo(words: string[][]): SQL {
  const longestFirst = words.toSorted(([one = ''], [other = '']) => other.length - one.length)
  const patternsByWord = longestFirst.map((spellings) => [
    ...spellings.map(toPattern),
    ...spellings.flatMap(typoPatterns),
  ])
  return sql.join(
    patternsByWord.map(
      (patterns, index) => isLikeAny(patterns, index === 0 ? text : sql`(${text} || '')`) ?? sql`true`,
    ),
    sql` and `,
  )
}

const toPattern = (spelling: string) => `%${escapeWildcards(spelling)}%`
const contains = (spellings: string[]): SQL => isLikeAny(spellings.map(toPattern)) ?? sql`true`
const escapeWildcards = (value: string) => value.replace(/[\\%_]/g, '\\$&')

function isLikeAny(patterns: string[], column: SQLWrapper = text): SQL | undefined {
  if (patterns.length < 2) return patterns.length === 0 ? undefined : sql`${column} like ${patterns[0]}`
  const list = sql.join(
    patterns.map((pattern) => sql`${pattern}`),
    sql`, `,
  )
  return sql`${column} like any(array[${list}])`
}

const maxWordLength = 32

/** What may have been meant, as patterns: with one letter left out, another in its place, one too few, or two swapped. */
function typoPatterns(word: string): string[] {
  const letters = Array.from(word, escapeWildcards)
  if (letters.length > maxWordLength) return []
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

/** So many that one in a hundred is sure to be among them, and so few that they cost nothing. */
const sampleSize = 1_000

/** Whether anyone in the workspace is like this, or anyone of the few that come first. */
async function hasMatch(ctx: Ctx, condition: SQL, limit?: number): Promise<boolean> {
  const allContacts = ctx.db.select({ text }).from(contacts).where(eq(contacts.workspaceId, ctx.workspaceId))
  const candidates = limit === undefined ? allContacts : allContacts.limit(limit)
  const found = await ctx.db.select({ one: sql`1` }).from(candidates.as('contacts')).where(condition).limit(1)
  return found.length > 0
}
