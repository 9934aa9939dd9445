/**
 * Statements that are written in SQL, where Drizzle's builder cannot express them. Each declares its parameters and the
 * columns that it returns. The declaration converts the values, and it is their type. `named-statements.int.test.ts`
 * prepares every statement and compares its declaration with the types that PostgreSQL reports.
 */
import { channel } from 'node:diagnostics_channel'
import { DrizzleQueryError, is, Placeholder, type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { PgDialect } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { type Db, onConnection, statementName } from '../client.ts'
import { type DeclaredType, type SqlType, toSqlType, type ValuesOf } from './sql-types.ts'

type Types = Record<string, DeclaredType>
/** The placeholders of a statement, each cast to its type. */
export type Params<Declared> = { readonly [Name in keyof Declared]: SQL }
/** A pool, a transaction, or a separate connection. */
interface Runner {
  readonly $client: pg.Pool | pg.ClientBase
}
type Statement<Declared, Result> = (
  db: Runner,
  ...values: Declared extends Types ? [values: ValuesOf<Declared>] : []
) => Promise<Result>

interface Definition<Declared extends Types | undefined> {
  params?: Declared
  /**
   * Plans the statement once per connection, because planning can cost more than running it. For statements of nearly
   * every request, but not if the best plan depends on the values, as in a listing with filters.
   */
  isPrepared?: boolean
  sql: (params: Params<Declared>) => SQL
}

/**
 * Declares a statement. It returns rows with a property for each column: `webhookId` is the column `webhook_id`. Without
 * columns, it returns the number of rows that it has changed.
 */
export function namedStatement<Declared extends Types | undefined = undefined>(
  name: string,
  definition: Definition<Declared> & { columns?: never },
): Statement<Declared, number>
export function namedStatement<Columns extends Types, Declared extends Types | undefined = undefined>(
  name: string,
  definition: Definition<Declared> & { columns: Columns },
): Statement<Declared, ValuesOf<Columns>[]>
export function namedStatement(
  name: string,
  { params = {}, columns, isPrepared = false, sql: build }: Definition<Types> & { columns?: Types | undefined },
): Statement<Types, unknown> {
  const types = mapValues(params, toSqlType)
  const placeholders = mapValues(types, ({ sqlType }, key) => sql`${sql.placeholder(key)}::${sql.raw(sqlType)}`)
  const query = mergeParams(toQuery(build(placeholders)))
  const toResult = columns ? rowReader(name, columns) : ({ rowCount }: pg.QueryArrayResult) => rowCount ?? 0
  register({ name, query, types, columns: columns ?? {} })
  const toValue = (param: unknown, values: Record<string, unknown>) => {
    if (!is(param, Placeholder)) return param
    const value = values[param.name]
    if (value === undefined) throw new Error(`The statement "${name}" has no value for "${param.name}"`)
    return encode(types[param.name], value)
  }
  return async (db, values = {}) => {
    const params = query.params.map((param) => toValue(param, values))
    return toResult(await run(db, { ...query, params }, isPrepared ? name : undefined))
  }
}

/** Declares the columns of statements that are composed for each call, such as those of filters. */
export function composedStatement<Columns extends Types>(
  name: string,
  { columns }: { columns: Columns },
): (db: Runner, query: SQL) => Promise<ValuesOf<Columns>[]> {
  const toRows = rowReader(name, columns)
  return async (db, query) => toRows(await run(db, toQuery(query))) as ValuesOf<Columns>[]
}

/** The parameters of a composed statement: values, each cast to its type. */
export function bindParams<Declared extends Types>(declared: Declared, values: ValuesOf<Declared>): Params<Declared> {
  const bound = mapValues<DeclaredType, SQL>(declared, (type, name) => {
    const sqlType = toSqlType(type)
    return sql`${sql.param(encode(sqlType, values[name]))}::${sql.raw(sqlType.sqlType)}`
  })
  return bound as Params<Declared>
}

interface Query {
  sql: string
  params: unknown[]
}

const dialect = new PgDialect({ casing: 'snake_case' })
const toQuery = (query: SQL): Query => dialect.sqlToQuery(query)

/** Drizzle numbers every use of a placeholder. Keeps one number per name. Values are not merged. */
function mergeParams(query: Query): Query {
  const keys = query.params.map((param, index) => (is(param, Placeholder) ? param.name : index))
  const merged = [...new Set(keys)]
  const params = merged.map((key) => query.params[keys.indexOf(key)])
  const number = (former: string) => merged.indexOf(keys[Number(former) - 1] ?? '') + 1
  return { sql: query.sql.replaceAll(/\$(\d+)/g, (_, former: string) => `$${number(former)}`), params }
}

function run(db: Runner, { sql: text, params }: Query, name?: string): Promise<pg.QueryArrayResult> {
  const config = { text, values: params, rowMode: 'array' as const, types: { getTypeParser } }
  const running =
    name === undefined
      ? db.$client.query(config)
      : onConnection(db as Pick<Db, '$client'>, (db) => db.$client.query({ ...config, name: statementName(db, name) }))
  return running.catch((cause: unknown): never => {
    throw new DrizzleQueryError(text, params, cause as Error)
  })
}

const encode = (type: SqlType<unknown> | undefined, value: unknown) =>
  value === null || value === undefined || !type?.encode ? value : type.encode(value)

/** Reads the rows of a result, whatever the order of its columns. */
function rowReader(name: string, columns: Types) {
  const properties = Object.entries(columns).map(([property, type]) => {
    return { property, column: toColumnName(property), decode: toSqlType(type).decode }
  })
  return ({ fields, rows }: pg.QueryArrayResult<unknown[]>): Record<string, unknown>[] => {
    if (statementResults.hasSubscribers) statementResults.publish({ name, columns, fields })
    const readers = properties.map(({ property, column, decode }) => {
      const index = fields.findIndex((field) => field.name === column)
      if (index < 0) throw new Error(`The statement "${name}" returns no column "${column}"`)
      return { property, decode, index }
    })
    return rows.map((values) => {
      const row: Record<string, unknown> = {}
      for (const { property, decode, index } of readers) {
        const value = values[index]
        row[property] = decode && value !== null ? decode(value) : value
      }
      return row
    })
  }
}

/** EXPLAIN names its column `QUERY PLAN`. */
export const toColumnName = (property: string) => (property.includes(' ') ? property : toSnakeCase(property))

/** `numeric[]` and the arrays of date and time types, which `pg.types.builtins` does not list. */
const arraysAsText = [1231, 1115, 1182, 1185, 1187]
const { TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL } = pg.types.builtins
const readAsText = new Set<number>([TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL, ...arraysAsText])

/** Reads the same values as Drizzle, whose columns convert them: dates and times are text. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (type, format): unknown =>
  readAsText.has(type) ? (value: unknown) => value : pg.types.getTypeParser(type, format)

// ── For tests ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** A result with its declaration, for the check of statements that are composed. */
export interface StatementResult {
  name: string
  columns: Types
  fields: readonly pg.FieldDef[]
}
export const statementResults = channel('rapport:statement-results')

export interface DeclaredStatement {
  name: string
  query: Query
  /** The types of the parameters that are placeholders in the query. */
  types: Record<string, SqlType<unknown>>
  columns: Types
}
const declared = new Map<string, DeclaredStatement>()
export const declaredStatements = (): DeclaredStatement[] => [...declared.values()]

function register(statement: DeclaredStatement): void {
  const known = declared.get(statement.name)
  if (known && known.query.sql !== statement.query.sql) throw new Error(`Two statements are named "${statement.name}"`)
  declared.set(statement.name, statement)
}

function mapValues<Value, Result>(
  record: Record<string, Value>,
  map: (value: Value, key: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}
