/** How the names of a header become columns, whatever the rows of the file are. */
import type { Layout } from '../../db/schema/imports.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import { withSuggestion } from '../../kernel/suggestion.ts'
import { normalizeName, toPrintable } from '../words/names.ts'

/** The property; null for a column that is left out, '' for one without a name, undefined for an unknown one. */
type Column = string | null | undefined
type Columns = Pick<Layout, 'columns'> & { ignored: NonNullable<Layout['ignored']> }

/** What the caller says about columns. */
export interface GivenColumns {
  /** Properties by headers, or null for columns to leave out. */
  columns?: Readonly<Record<string, string | null>> | undefined
  unknownColumns?: 'error' | 'ignore' | undefined
}

interface Rules extends GivenColumns {
  /** What `columns` maps headers to, and how messages say that. */
  targets: { names: readonly string[]; message: string }
  /** The column of a target; undefined for one that is none. */
  toColumn: (target: string, name: string) => string | undefined
  /** Returns what finds the column that each of these names means, if the caller does not map it. */
  createFinder: (names: readonly string[]) => (name: string) => Column
  isRepeatable: (column: string) => boolean
  listKnown: () => string
}

export interface NameMatcher {
  isGiven: (name: string) => boolean
  isKnown: (name: string) => boolean
  /** Throws `validation_error` for an unknown column, and for two columns with the same target. */
  resolve: (names: readonly string[]) => Columns
}

export function createNameMatcher(rules: Rules): NameMatcher {
  const { createFinder, isRepeatable, listKnown, unknownColumns } = rules
  const ignores = unknownColumns === 'ignore'
  const given = readGiven(rules)
  const createMatcher = (names: readonly string[]) => {
    const find = createFinder(names)
    return (name: string): Column => {
      const normalized = normalizeName(name)
      if (given.has(normalized)) return given.get(normalized)
      return normalized === '' ? '' : find(name)
    }
  }
  const matchAlone = createMatcher([])
  return {
    isGiven: (name) => given.has(normalizeName(name)),
    isKnown: (name) => {
      const column = matchAlone(name)
      return column !== undefined && column !== ''
    },
    resolve(names) {
      requireHeaders([...given.keys()], names)
      const columns = names.map(createMatcher(names))
      const unknown = names.filter((_name, index) => columns[index] === undefined)
      if (unknown.length > 0 && !ignores) throw unknownError(unknown, listKnown())
      const single = columns.filter((column) => column && !isRepeatable(column))
      const duplicate = single.find((column, index) => single.indexOf(column) < index)
      if (duplicate) throw new AppError('validation_error', `Two columns of the file map to ${duplicate}`)
      const isLeftOut = (column: Column) => column === undefined || (column === '' && ignores)
      return {
        columns: columns.map((column) => (isLeftOut(column) ? null : (column ?? null))),
        ignored: names.flatMap((name, position) =>
          isLeftOut(columns[position]) ? [{ position, name: toPrintable(name) }] : [],
        ),
      }
    },
  }
}

/** Throws `validation_error` for a target that is none, and for two spellings of a header with different targets. */
function readGiven({ columns = {}, targets, toColumn }: Rules): ReadonlyMap<string, string | null> {
  const given = new Map<string, string | null>()
  for (const [name, target] of Object.entries(columns)) {
    const column = target === null ? null : toColumn(target, name)
    if (column === undefined)
      throw invalidField(`columns.${name}`, withSuggestion(targets.message, target ?? '', targets.names))
    const normalized = normalizeName(name)
    if (given.has(normalized) && given.get(normalized) !== column)
      throw invalidField(`columns.${name}`, 'is another spelling of a header that has another target')
    given.set(normalized, column)
  }
  return given
}

/** A header that `columns` names but the file does not have is a typing error, or the wrong file. */
function requireHeaders(given: readonly string[], names: readonly string[]): void {
  const found = new Set(names.map(normalizeName))
  const missing = given.find((name) => !found.has(name))
  if (missing !== undefined)
    throw invalidField('columns', withSuggestion(`The file has no column "${missing}"`, missing, found))
}

const howToMap =
  'Map the others with columns={"Mail":"email","Notes":null}, or leave them out with unknownColumns=ignore'

function unknownError(names: readonly string[], known: string): AppError {
  const shown = names.slice(0, 10).map(toPrintable)
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  const list = shown.map((name) => `"${name}"`).join(', ')
  return new AppError('validation_error', `Unknown columns: ${list}${rest}. ${known}. ${howToMap}`, {
    issues: shown.map((path) => ({ path, message: 'unknown column' })),
  })
}
