/** What the columns of all files have in common, whatever their rows are. */
import type { Layout } from '../../db/schema/imports.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import { withSuggestion } from '../../kernel/suggestion.ts'
import { showInvisible, startOfText, trimInvisible } from '../../kernel/values/text.ts'

export type Columns = Layout['columns']

/** Lists of names and words stand as one text. */
export const toWords = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The key of each word. */
export const keysByWord = <Key extends string>(words: Readonly<Record<Key, readonly string[]>>): Map<string, Key> =>
  new Map((Object.keys(words) as Key[]).flatMap((key) => words[key].map((word) => [word, key] as const)))

interface Rules {
  /** The property; null for a column that is left out, '' for one without a name, undefined for an unknown one. */
  matchName: (name: string) => string | null | undefined
  repeatable: (column: string) => boolean
  ignoresUnknown: boolean
  listKnown: () => string
}

/** Throws `validation_error` for an unknown column, and for two columns with the same target. */
export function resolveColumns(names: readonly string[], rules: Rules): Columns {
  const columns = names.map(rules.matchName)
  const unknown = names.filter((_name, index) => columns[index] === undefined)
  if (unknown.length > 0 && !rules.ignoresUnknown) throw unknownColumns(unknown, rules.listKnown())
  const known = columns.filter((column) => column && !rules.repeatable(column))
  const duplicate = known.find((column, index) => known.indexOf(column) < index)
  if (duplicate) throw new AppError('validation_error', `Two columns of the file map to ${duplicate}`)
  const isLeftOut = (column: string | null | undefined) =>
    column === undefined || (column === '' && rules.ignoresUnknown)
  return columns.map((column) => (isLeftOut(column) ? null : (column ?? null)))
}

const howToMap =
  'Map the others with columns={"Mail":"email","Notes":null}, or leave them out with unknownColumns=ignore'

function unknownColumns(names: readonly string[], known: string): AppError {
  const shown = names.slice(0, 10).map(toPrintable)
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  const list = shown.map((name) => `"${name}"`).join(', ')
  return new AppError('validation_error', `Unknown columns: ${list}${rest}. ${known}. ${howToMap}`, {
    issues: shown.map((path) => ({ path, message: 'unknown column' })),
  })
}

/** A header that `columns` names but the file does not have is a typing error, or the wrong file. */
export function requireHeaders(given: ReadonlyMap<string, string | null>, names: readonly string[]): void {
  const found = new Set(names.map((name) => normalizeName(trimInvisible(name))))
  for (const name of given.keys())
    if (!found.has(name)) throw invalidField('columns', withSuggestion(`The file has no column "${name}"`, name, found))
}

/** "First Name", "first_name" and "FIRSTNAME" are the same name. */
export const normalizeName = (name: string) =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}_.-]+/gu, '')

/** Makes a name from a file safe to show and to store. Shows invisible characters as `\u200b`. */
export const toPrintable = (name: string) => showInvisible(startOfText(name, 60))
