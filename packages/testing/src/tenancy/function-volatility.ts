/** Whether an expression depends on more than its values: by the names of functions, as a tree has no types. */
import type { A_Expr, Node, TypeCast } from 'libpg-query'
import { stringOf, visit } from './parse-tree.ts'

const volatile = new Set(['random', 'gen_random_uuid', 'uuidv7', 'clock_timestamp', 'nextval', 'set_config'])
const stable = new Set(
  `now statement_timestamp transaction_timestamp to_char to_date to_timestamp date_trunc date_part extract age
  make_timestamptz concat concat_ws format array_to_string to_tsvector unaccent current_setting pg_current_xact_id
  to_json to_jsonb row_to_json array_to_json json_build_object jsonb_build_object json_build_array jsonb_build_array
  json_populate_record jsonb_populate_record json_to_record jsonb_to_record`.split(/\s+/),
)
/** Reading and writing a moment depends on the time zone of the session. */
const momentTypes = new Set(['timestamptz', 'timestamp', 'date', 'time', 'timetz', 'interval'])
const momentColumn = /_(at|until|since)$/

/** Whether an expression, apart from its sub-selects, calls a volatile function. */
export function isVolatile(tree: unknown): boolean {
  return some(tree, (node) => volatile.has(functionOf(node)))
}

/** Whether an expression, apart from its sub-selects, calls a function that is stable, with arguments that `matches`. */
export function isStableExpression(tree: unknown, matches: (node: Node) => boolean): boolean {
  return some(tree, (node) => isStable(node) && matches(node))
}

export const isNotImmutable = (tree: unknown): boolean => isVolatile(tree) || isStableExpression(tree, () => true)

/** Whether an expression, apart from its sub-selects, reads a column. */
export const hasColumn = (tree: unknown): boolean => some(tree, (node) => 'ColumnRef' in node)

function isStable(node: Node): boolean {
  if ('SQLValueFunction' in node) return true
  if ('TypeCast' in node) return isStableCast(node.TypeCast)
  if ('A_Expr' in node) return isMovedMoment(node.A_Expr)
  return stable.has(functionOf(node))
}

/** The cast of a parameter or a constant happens before the statement. */
function isStableCast({ arg, typeName }: TypeCast): boolean {
  if (!arg || !hasColumn(arg)) return false
  const name = stringOf(typeName?.names?.at(-1))
  return momentTypes.has(name) || (name === 'text' && momentColumn.test(columnOf(arg)))
}

/** A moment and an interval: a day may have 23 hours. */
function isMovedMoment({ name, lexpr, rexpr }: A_Expr): boolean {
  return /^[+-]$/.test(stringOf(name?.at(-1))) && [lexpr, rexpr].some(isInterval)
}

function isInterval(node: Node | undefined): boolean {
  if (!node) return false
  if ('A_Expr' in node)
    return stringOf(node.A_Expr.name?.at(-1)) === '*' && [node.A_Expr.lexpr, node.A_Expr.rexpr].some(isInterval)
  if ('TypeCast' in node) return stringOf(node.TypeCast.typeName?.names?.at(-1)) === 'interval'
  return functionOf(node) === 'make_interval'
}

const functionOf = (node: Node) => ('FuncCall' in node ? stringOf(node.FuncCall.funcname?.at(-1)) : '')
const columnOf = (node: Node) => ('ColumnRef' in node ? stringOf(node.ColumnRef.fields?.at(-1)) : '')

function some(tree: unknown, matches: (node: Node) => boolean): boolean {
  let isFound = false
  visit(tree, (node) => {
    if (isFound || 'SubLink' in node) return true
    isFound = matches(node)
    return isFound
  })
  return isFound
}
