import type { Node, SelectStmt } from 'libpg-query'
import { find, sourcesOf, stringOf } from './parse-tree.ts'

/**
 * Whether a sub-select of distributed tables refers to a level that reads none: only reference tables, functions, CTEs and
 * sub-selects of these. Only `alias.column` counts, as all such references are written.
 */
export function findCorrelation(statement: Node, distributed: ReadonlySet<string>): boolean {
  return find(statement, 'SelectStmt').some((level) => refersToLevel(level, distributed))
}

function refersToLevel(
  { fromClause, withClause: _withClause, ...expressions }: SelectStmt,
  distributed: ReadonlySet<string>,
): boolean {
  const sources = sourcesOf(fromClause)
  if (sources.length === 0 || sources.some((source) => isDistributed(source, distributed))) return false
  const aliases = new Set(sources.map(aliasOf))
  const laterals = sources.filter((source) => 'RangeSubselect' in source && source.RangeSubselect.lateral)
  return [...find(expressions, 'SubLink').map(({ subselect }) => subselect), ...laterals].some(
    (inner) => readsDistributed(inner, distributed) && refersTo(inner, aliases),
  )
}

const readsDistributed = (tree: unknown, distributed: ReadonlySet<string>) =>
  find(tree, 'RangeVar').some(({ relname = '' }) => distributed.has(relname))

const refersTo = (tree: unknown, aliases: ReadonlySet<string>) =>
  find(tree, 'ColumnRef').some(({ fields = [] }) => fields.length > 1 && aliases.has(stringOf(fields[0])))

/** A sub-select with a limit is computed before the rest, and sent to the servers as a result. */
function isDistributed(source: Node, distributed: ReadonlySet<string>): boolean {
  if ('RangeVar' in source) return distributed.has(source.RangeVar.relname ?? '')
  if (!('RangeSubselect' in source) || source.RangeSubselect.lateral) return false
  const { subquery } = source.RangeSubselect
  if (!subquery || !('SelectStmt' in subquery) || subquery.SelectStmt.limitCount) return false
  return sourcesOf(subquery.SelectStmt.fromClause).some((inner) => isDistributed(inner, distributed))
}

function aliasOf(source: Node): string {
  if ('RangeVar' in source) return source.RangeVar.alias?.aliasname ?? source.RangeVar.relname ?? ''
  if ('RangeSubselect' in source) return source.RangeSubselect.alias?.aliasname ?? ''
  return 'RangeFunction' in source ? (source.RangeFunction.alias?.aliasname ?? '') : ''
}
