/** The relations of one query level, and which of their columns are known to equal a parameter. */
import type { JoinExpr, Node } from 'libpg-query'
import { stringOf } from './parse-tree.ts'

export interface Output {
  name: string
  /** Whether the column equals a parameter, so that all rows have the same value. */
  isBound: boolean
}

interface Relation {
  alias: string
  /** The table's name. A sub-select, a common table expression and a function have none. */
  table?: string
  columns: Set<string>
  bound: Set<string>
}

/** A column of this level; true and false stand for other expressions: bound, not bound. */
type Term = { relation: Relation; column: string } | boolean

export class QueryLevel {
  readonly relations: Relation[] = []
  readonly outer: QueryLevel | undefined
  readonly #equal: [Term, Term][] = []

  constructor(outer?: QueryLevel) {
    this.outer = outer
  }

  addRelation(alias: string, outputs: readonly Output[], table?: string): void {
    this.relations.push({
      alias,
      ...(table !== undefined && { table }),
      columns: new Set(outputs.map(({ name }) => name)),
      bound: new Set(outputs.filter(({ isBound }) => isBound).map(({ name }) => name)),
    })
  }

  /** Adds the equalities of a condition. Those below OR and NOT do not count. */
  addCondition(condition: Node | undefined, readSubquery: (query: Node) => Output[]): void {
    if (!condition) return
    if ('BoolExpr' in condition && condition.BoolExpr.boolop === 'AND_EXPR')
      for (const part of condition.BoolExpr.args ?? []) this.addCondition(part, readSubquery)
    if ('A_Expr' in condition && condition.A_Expr.kind === 'AEXPR_OP' && isEqualsSign(condition.A_Expr.name)) {
      const right = rowItems(condition.A_Expr.rexpr).map((item) => this.#termOf(item))
      this.#addEqualities(condition.A_Expr.lexpr, right)
    }
    // `x in (select …)` has no operator name.
    if ('SubLink' in condition && condition.SubLink.subLinkType === 'ANY_SUBLINK' && !condition.SubLink.operName) {
      const { testexpr, subselect } = condition.SubLink
      if (subselect)
        this.#addEqualities(
          testexpr,
          readSubquery(subselect).map(({ isBound }) => isBound),
        )
    }
  }

  /** Adds the equalities of `JOIN … USING`. `leftCount` is the number of relations before the join's right side. */
  addUsing({ usingClause = [] }: JoinExpr, leftCount: number): void {
    for (const name of usingClause.map(stringOf)) {
      const [left, right] = [this.relations.slice(0, leftCount), this.relations.slice(leftCount)].map((relations) =>
        relations.find(({ columns }) => columns.has(name)),
      )
      if (left && right)
        this.#equal.push([
          { relation: left, column: name },
          { relation: right, column: name },
        ])
    }
  }

  isBound(expression: Node | undefined): boolean {
    return expression !== undefined && this.#isTermBound(this.#termOf(expression))
  }

  /** Spreads "equals a parameter" along the equalities. */
  resolve(): void {
    let hasChanged = true
    const bind = (from: Term, to: Term) => {
      if (typeof to === 'boolean' || !this.#isTermBound(from) || this.#isTermBound(to)) return
      to.relation.bound.add(to.column)
      hasChanged = true
    }
    while (hasChanged) {
      hasChanged = false
      for (const [left, right] of this.#equal) {
        bind(left, right)
        bind(right, left)
      }
    }
  }

  /** Whether equalities connect the workspaces of all relations of these tables. */
  isTied(tables: ReadonlySet<string>): boolean {
    const [first, ...others] = this.relations.filter(({ table }) => table !== undefined && tables.has(table))
    if (!first) return true
    const tied = new Set([keyOf(first, 'workspace_id')])
    const pairs = this.#equal.map((pair) =>
      pair.map((term) => (typeof term === 'boolean' ? '' : keyOf(term.relation, term.column))),
    )
    for (let size = 0; size < tied.size; ) {
      size = tied.size
      for (const key of pairs.filter((pair) => pair.some((one) => tied.has(one))).flat()) tied.add(key)
    }
    return others.every((other) => tied.has(keyOf(other, 'workspace_id')))
  }

  /** The columns that a list of expressions returns, with those of `*`. */
  outputsOf(targets: readonly Node[] = []): Output[] {
    return targets.flatMap((target) => {
      if (!('ResTarget' in target)) return []
      const { name, val } = target.ResTarget
      const fields = val && 'ColumnRef' in val ? (val.ColumnRef.fields ?? []) : []
      const last = fields.at(-1)
      if (last && 'A_Star' in last) return this.#allColumns(fields.length > 1 ? stringOf(fields[0]) : undefined)
      return [{ name: name ?? nameOf(val), isBound: this.isBound(val) }]
    })
  }

  #allColumns(alias: string | undefined): Output[] {
    const relations = this.relations.filter((relation) => alias === undefined || relation.alias === alias)
    return relations.flatMap(({ columns, bound }) => [...columns].map((name) => ({ name, isBound: bound.has(name) })))
  }

  #addEqualities(left: Node | undefined, right: Term[]): void {
    for (const [index, item] of rowItems(left).entries()) this.#equal.push([this.#termOf(item), right[index] ?? false])
  }

  #isTermBound(term: Term): boolean {
    return typeof term === 'boolean' ? term : term.relation.bound.has(term.column)
  }

  #termOf(expression: Node): Term {
    if ('TypeCast' in expression && expression.TypeCast.arg) return this.#termOf(expression.TypeCast.arg)
    if ('ParamRef' in expression || 'A_Const' in expression) return true
    if (!('ColumnRef' in expression)) return false
    const names = (expression.ColumnRef.fields ?? []).map(stringOf)
    return this.#find(names.at(-1) ?? '', names.at(-2))
  }

  #find(column: string, alias: string | undefined): Term {
    const relation = this.relations.find((known) =>
      alias === undefined ? known.columns.has(column) : known.alias === alias,
    )
    if (relation) return { relation, column }
    return this.outer ? this.outer.#isTermBound(this.outer.#find(column, alias)) : false
  }
}

/** All values that are no column have one key: the empty one. */
const keyOf = ({ alias }: Relation, column: string) => `${alias}.${column}`

function isEqualsSign(name: readonly Node[] | undefined): boolean {
  return stringOf(name?.at(-1)) === '='
}

function rowItems(node: Node | undefined): Node[] {
  if (!node) return []
  return 'RowExpr' in node ? (node.RowExpr.args ?? []) : [node]
}

/** The name that PostgreSQL gives a column without an alias, as far as it can be that of a column. */
function nameOf(expression: Node | undefined): string {
  if (!expression) return ''
  if ('TypeCast' in expression) return nameOf(expression.TypeCast.arg)
  return 'ColumnRef' in expression ? stringOf(expression.ColumnRef.fields?.at(-1)) : ''
}
