/** What the error of a failed statement or connection means. */
import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { type AppError, rootMessageOf, withoutParameters } from '../kernel/errors.ts'
import { isServerLost, readConstraint } from './distribution/read-error.ts'

/** Returns the name of the constraint that a failed statement violated; undefined if it failed for another reason. */
export function violatedConstraint(error: unknown): string | undefined {
  const known = databaseError(error)
  return known && readConstraint(known)
}

/** For `.catch`: converts a violation of the named constraint to an AppError and rethrows any other error. */
export function onConstraint(constraint: string, toError: () => AppError) {
  return (error: unknown): never => {
    throw violatedConstraint(error) === constraint ? toError() : error
  }
}

/** Includes class 28 and 3D000: the password may be changing, or a restore may be running. */
const unavailableSqlStates = [
  /^08/,
  /^28/,
  /^3D000$/,
  /^57P0[123]$/,
  /^53/,
  /^55P03$/,
  /^57014$/,
  /^25P03$/,
  /^40001$/,
  /^40P01$/,
]
const unavailableSystemCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const unavailableDriverMessages =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|is not queryable|pool after calling end/

/** Whether the database was unavailable, overloaded or shutting down, so that a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const known = databaseError(error)
  if (known && isServerLost(known)) return true
  if (known?.code) return unavailableSqlStates.some((state) => state.test(known.code ?? ''))
  const cause = unwrapQueryError(error)
  if (!(cause instanceof Error)) return false
  if (cause instanceof AggregateError) return cause.errors.some(isDatabaseUnavailable)
  return (
    unavailableSystemCodes.has((cause as NodeJS.ErrnoException).code ?? '') ||
    unavailableDriverMessages.test(cause.message)
  )
}

const problems: readonly [RegExp, string][] = [
  [/^28/, 'the user or the password is refused'],
  [/^3D000$/, 'the database does not exist'],
  [/^53300$/, 'the server has no connection left'],
  [/^57P0[123]$/, 'the server is starting or shutting down'],
  [/^ECONNREFUSED$/, 'the connection is refused'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'the name of the server is not found'],
]

/** Why the database is unavailable, without names of users and servers: for those who may not read the log. */
export function describeDatabaseProblem(error: unknown): string {
  const cause = unwrapQueryError(error)
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause
  const { code = '' } = (first ?? {}) as { code?: string }
  const known = problems.find(([pattern]) => pattern.test(code))?.[1]
  return known ?? (/time|ETIMEDOUT/i.test(`${code} ${String(first)}`) ? 'the server does not respond' : 'see the log')
}

/** Whether a statement failed with one of these SQLSTATE codes. */
export function hasSqlState(error: unknown, states: readonly string[]): boolean {
  return states.includes(databaseError(error)?.code ?? '')
}

/**
 * Whether a single row of a batch may have made the statement fail, by invalid data or by a lock of another
 * transaction. With these errors the transaction is certain to have been rolled back.
 */
export function isRowSpecificError(error: unknown): boolean {
  return /^(2[23]|40001|40P01|54|55P03)/.test(databaseError(error)?.code ?? '')
}

/** Describes why a process could not start: one line for a known cause, otherwise the error itself. */
export function describeStartupError(error: unknown): unknown {
  const { code, port } = error as { code?: string; port?: number }
  if (code === 'EADDRINUSE') return `Port ${port} is already in use`
  // undefined_table, undefined_column
  if (/^42P01$|^42703$/.test(databaseError(error)?.code ?? '')) return 'Migrations are pending: run rapport migrate'
  return isDatabaseUnavailable(error) ? `PostgreSQL is unavailable: ${rootMessageOf(error)}` : withoutParameters(error)
}

/** Drizzle wraps the error of a statement, and the error of a connection that was not accepted twice. */
function unwrapQueryError(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? unwrapQueryError(error.cause) : error
}

/** Returns the error of PostgreSQL in an error of a statement, or undefined. */
export function databaseError(error: unknown): pg.DatabaseError | undefined {
  const cause = unwrapQueryError(error)
  return cause instanceof pg.DatabaseError ? cause : undefined
}
