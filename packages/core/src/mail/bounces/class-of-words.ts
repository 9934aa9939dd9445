/** Finds the rows of `bounce-words.ts` whose words are in a response. */
import { toNormalForm } from '../../kernel/values/text.ts'
import type { BounceClass } from './bounce.schema.ts'
import { type WordRow, wordRows } from './bounce-words.ts'

/** The words of a row. */
export const splitWords = ({ words }: WordRow): string[] =>
  words
    .trim()
    .split(/\s*\|\s*/)
    .map((word) => word.replace(/\s+/g, ' '))

/** Searching for the start of a word first is a hundred times as fast as the pattern alone. */
interface Word {
  text: string
  start: string
  /** Compiled when a response has the start: to compile all would take a tenth of the start of an API. */
  pattern?: RegExp
}

const rows = wordRows.map((row) => ({
  ...row,
  words: splitWords(row).map((text): Word => ({ text, start: text.split('*', 1)[0] ?? '' })),
}))

/** Words of languages without spaces may stand within others. */
function compileWord(word: string): RegExp {
  const pattern = word.replaceAll('.', '\\.').replaceAll('*', '\\S{0,100}')
  const isSpaced = /^[\p{Script=Latin}\p{Script=Cyrillic}\d#]/u.test(word)
  return new RegExp(isSpaced ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern, 'u')
}

const maxLength = 2_000

/** Leaves the words of a response: names of hosts, addresses and links contain others, such as `antispam.example.com`. */
const normalize = (text: string): string =>
  toNormalForm(text.slice(0, maxLength))
    .replace(/\s+/g, ' ')
    .replace(/(?<!\d)[45]\d\d(?:: ?|[ -])(?:[45]\.\d{1,3}\.\d{1,3} )?/g, '')
    .replace(/https?:\S+/gi, '@')
    .replace(/(?<![\w.+=-])[\w.+=-]{1,100}@[\w.-]+/g, '@')
    .replace(/(?<![\w.-])(?:[\w-]{1,63}\.)+[a-z]{2,24}(?![\w-])/g, '@')
    .replace(/[\u2018\u2019\u0092]/g, "'")
    .replace(/\s+/g, ' ')
    .toLowerCase()

/** Servers name the list in the address of its website. */
const blocklists = /spamhaus|spamcop|barracudacentral|sorbs\.net|uribl|surbl/i

/** The class that the words of a response with this code name. Undefined if they say nothing. */
export function classOfWords(text: string, code?: string): BounceClass | undefined {
  const normalized = `${blocklists.test(text) ? 'blocklist ' : ''}${normalize(text)}`
  const isIn = (word: Word) =>
    normalized.includes(word.start) && (word.pattern ??= compileWord(word.text)).test(normalized)
  return rows.find((row) => (row.code ?? code) === code && row.words.some(isIn))?.class
}
