/**
 * Checks that a statement stays within one workspace, so that the nodes of a distributed database can run it: each query
 * level compares the `workspace_id` of every distributed table with a parameter, or with a column that equals one.
 */
import type {
  DeleteStmt,
  InsertStmt,
  Node,
  RangeFunction,
  RangeVar,
  SelectStmt,
  UpdateStmt,
  WithClause,
} from 'libpg-query'
import { stringOf, visit } from './parse-tree.ts'
import { type Output, QueryLevel } from './query-level.ts'
import { refusedShapes } from './refused-shapes.ts'

export interface Tables {
  /** The columns of every table. */
  columns: ReadonlyMap<string, readonly string[]>
  /** The tables whose rows are distributed by workspace. */
  distributed: ReadonlySet<string>
}

export interface Finding {
  /** `shape`: see `refused-shapes.ts`. */
  kind: 'workspace' | 'shape'
  message: string
}

type CommonTables = ReadonlyMap<string, readonly Output[]>
/** Where a query stands: the level around it and the common table expressions it can read. */
interface Place {
  outer?: QueryLevel | undefined
  common: CommonTables
}

/** A query level and the common table expressions that its queries can read. */
interface Scope {
  level: QueryLevel
  common: CommonTables
}

/** The common parts of UPDATE and DELETE. */
type Change = {
  [Part in 'withClause' | 'relation' | 'whereClause' | 'targetList' | 'returningClause']?: UpdateStmt[Part] | undefined
} & { from: Node[] | undefined }

/** Returns what is wrong with a parsed statement. `isCounted`: its caller uses the number of rows. */
export function checkStatement(statement: Node, tables: Tables, { isCounted = false } = {}): Finding[] {
  const check = new StatementCheck(tables)
  check.readQuery(statement, { common: new Map() })
  const { locks, isUntied } = check
  const crosses = check.findings.size > 0
  const facts = { statement, distributed: tables.distributed, crosses, locks, isUntied, isCounted }
  const shapes = Object.entries(refusedShapes).filter(([, { isFound }]) => isFound(facts))
  return [
    ...[...check.findings].map((message) => ({ kind: 'workspace' as const, message })),
    ...shapes.map(([name, { reason }]) => ({ kind: 'shape' as const, message: `${name}: ${reason}` })),
  ]
}

class StatementCheck {
  readonly findings = new Set<string>()
  locks = false
  isUntied = false
  readonly #tables: Tables
  readonly #read = new Map<Node, Output[]>()

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Checks a query and the queries in it. Returns its columns. Statements that are no queries have none. */
  readQuery(query: Node, place: Place): Output[] {
    if ('SelectStmt' in query) return this.#readSelect(query.SelectStmt, place)
    if ('InsertStmt' in query) return this.#readInsert(query.InsertStmt, place)
    if ('UpdateStmt' in query) return this.#readUpdate(query.UpdateStmt, place)
    if ('DeleteStmt' in query) return this.#readDelete(query.DeleteStmt, place)
    if ('MergeStmt' in query) this.findings.add('MERGE is not supported by this check')
    return []
  }

  #readSelect(select: SelectStmt, place: Place): Output[] {
    const inner = this.#withCommonTables(select.withClause, place)
    if (select.larg && select.rarg) {
      const right = this.#readSelect(select.rarg, inner)
      return this.#readSelect(select.larg, inner).map(({ name, isBound }, index) => ({
        name,
        isBound: isBound && right[index]?.isBound === true,
      }))
    }
    const level = new QueryLevel(place.outer)
    const scope = { level, common: inner.common }
    this.#addScope(select.fromClause, select.whereClause, scope)
    const open = this.#checkRelations(level)
    if (select.lockingClause && open.length > 0) this.locks = true
    const { withClause: _withClause, fromClause, ...expressions } = select
    this.#readSubqueries([expressions, fromClause], scope)
    return select.valuesLists ? readValues(select.valuesLists, level) : level.outputsOf(select.targetList)
  }

  #readInsert(insert: InsertStmt, place: Place): Output[] {
    const inner = this.#withCommonTables(insert.withClause, place)
    const table = insert.relation?.relname ?? ''
    const values = insert.selectStmt ? this.readQuery(insert.selectStmt, inner) : []
    const names = insert.cols?.map((target) => ('ResTarget' in target ? (target.ResTarget.name ?? '') : ''))
    const at = names?.indexOf('workspace_id') ?? -1
    if (this.#tables.distributed.has(table) && at < 0) this.findings.add(`inserts into ${table} without workspace_id`)
    const level = new QueryLevel(place.outer)
    level.addRelation(
      insert.relation?.alias?.aliasname ?? table,
      this.#columnsOf(table, values[at]?.isBound ? ['workspace_id'] : []),
    )
    const { onConflictClause, returningClause } = insert
    this.#readSubqueries([onConflictClause, returningClause], { level, common: inner.common })
    return level.outputsOf(returningClause?.exprs)
  }

  #readUpdate(update: UpdateStmt, place: Place): Output[] {
    const { withClause, relation, fromClause, whereClause, targetList, returningClause } = update
    return this.#readChange({ withClause, relation, from: fromClause, whereClause, targetList, returningClause }, place)
  }

  #readDelete(deletion: DeleteStmt, place: Place): Output[] {
    const { withClause, relation, usingClause, whereClause, returningClause } = deletion
    return this.#readChange({ withClause, relation, from: usingClause, whereClause, returningClause }, place)
  }

  #readChange(change: Change, place: Place): Output[] {
    const inner = this.#withCommonTables(change.withClause, place)
    const level = new QueryLevel(place.outer)
    // The changed table is never a common table expression.
    if (change.relation) this.#addTable(change.relation, { level, common: new Map() })
    const scope = { level, common: inner.common }
    this.#addScope(change.from, change.whereClause, scope)
    this.#checkRelations(level)
    this.#readSubqueries([change.targetList, change.from, change.whereClause, change.returningClause], scope)
    return level.outputsOf(change.returningClause?.exprs)
  }

  #withCommonTables(withClause: WithClause | undefined, place: Place): Place {
    const common = new Map(place.common)
    for (const node of withClause?.ctes ?? []) {
      if (!('CommonTableExpr' in node)) continue
      const { ctename = '', ctequery, aliascolnames } = node.CommonTableExpr
      if (!ctequery) continue
      // A recursive query reads its own first part.
      const first = withClause?.recursive && 'SelectStmt' in ctequery ? ctequery.SelectStmt.larg : undefined
      if (first) common.set(ctename, rename(this.#readSelect(first, { ...place, common }), aliascolnames))
      common.set(ctename, rename(this.readQuery(ctequery, { ...place, common }), aliascolnames))
    }
    return { ...place, common }
  }

  /** A lateral sub-select comes last: the conditions of the level apply to the columns that it reads. */
  #addScope(from: Node[] | undefined, where: Node | undefined, scope: Scope): void {
    for (const isLateral of [false, true]) {
      this.#addRelations(from, scope, isLateral)
      this.#addCondition(where, scope)
    }
  }

  #addRelations(from: Node[] | undefined, scope: Scope, isLateral: boolean): void {
    const { level, common } = scope
    for (const item of from ?? []) {
      if ('RangeVar' in item && !isLateral) this.#addTable(item.RangeVar, scope)
      if ('RangeFunction' in item && !isLateral) level.addRelation(...functionColumns(item.RangeFunction))
      if ('RangeSubselect' in item && (item.RangeSubselect.lateral ?? false) === isLateral) {
        const { subquery, alias } = item.RangeSubselect
        const outputs = subquery ? this.readQuery(subquery, { common, outer: isLateral ? level : level.outer }) : []
        level.addRelation(alias?.aliasname ?? '', rename(outputs, alias?.colnames))
      }
      if ('JoinExpr' in item) {
        const { larg, rarg, quals } = item.JoinExpr
        this.#addRelations(larg && [larg], scope, isLateral)
        const leftCount = level.relations.length
        this.#addRelations(rarg && [rarg], scope, isLateral)
        if (!isLateral) level.addUsing(item.JoinExpr, leftCount)
        this.#addCondition(quals, scope)
      }
    }
  }

  #addTable({ relname = '', alias }: RangeVar, { level, common }: Scope): void {
    const found = common.get(relname)
    const name = alias?.aliasname ?? relname
    if (found) level.addRelation(name, rename(found, alias?.colnames))
    else level.addRelation(name, this.#columnsOf(relname, []), relname)
  }

  #columnsOf(table: string, bound: string[]): Output[] {
    return (this.#tables.columns.get(table) ?? []).map((name) => ({ name, isBound: bound.includes(name) }))
  }

  #addCondition(condition: Node | undefined, { level, common }: Scope): void {
    level.addCondition(condition, (query) => this.#readOnce(query, { common, outer: level }))
    level.resolve()
  }

  #checkRelations(level: QueryLevel): string[] {
    const open = level.relations
      .filter(({ table, bound }) => table && this.#tables.distributed.has(table) && !bound.has('workspace_id'))
      .map(({ table, alias }) => (table === alias ? alias : `${table} ${alias}`))
    if (open.length > 0 && !level.isTied(this.#tables.distributed)) this.isUntied = true
    for (const relation of open) this.findings.add(`does not name the workspace of ${relation}`)
    return open
  }

  #readSubqueries(tree: unknown, scope: Scope): void {
    visit(tree, (node) => {
      if (!('SubLink' in node) || !node.SubLink.subselect) return 'RangeSubselect' in node
      this.#readOnce(node.SubLink.subselect, { common: scope.common, outer: scope.level })
      this.#readSubqueries(node.SubLink.testexpr, scope)
      return true
    })
  }

  #readOnce(query: Node, place: Place): Output[] {
    const outputs = this.#read.get(query) ?? this.readQuery(query, place)
    this.#read.set(query, outputs)
    return outputs
  }
}

function readValues(lists: Node[], level: QueryLevel): Output[] {
  const rows = lists.map((list) => ('List' in list ? (list.List.items ?? []) : []))
  return (rows[0] ?? []).map((_value, index) => ({
    name: `column${index + 1}`,
    isBound: rows.every((row) => level.isBound(row[index])),
  }))
}

function functionColumns({ alias, coldeflist }: RangeFunction): [string, Output[]] {
  const defined = coldeflist?.map((node) => ('ColumnDef' in node ? (node.ColumnDef.colname ?? '') : ''))
  const named = alias?.colnames?.map(stringOf)
  const names = defined ?? named ?? [alias?.aliasname ?? '']
  return [alias?.aliasname ?? '', names.map((name) => ({ name, isBound: false }))]
}

function rename(outputs: readonly Output[], names: Node[] | undefined): Output[] {
  return outputs.map((output, index) => ({ ...output, name: stringOf(names?.[index]) || output.name }))
}
