import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'

export type ErrorCode =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'precondition_failed'
  | 'unprocessable'
  | 'too_large'
  | 'throttled'
  | 'unavailable'

/** One wrong value: where it stands in the input (`fields.0.label`) and what is wrong with it. */
export interface Issue {
  path: string
  message: string
}

/** Everything a caller may be told of. `message` and `details` are public; anything else thrown is a bug and stays inside. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly issues: readonly Issue[] | undefined
  readonly details: Readonly<Record<string, string | number>> | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    more: { issues?: Issue[]; details?: Record<string, string | number>; retryAfterSeconds?: number } = {},
  ) {
    super(message)
    this.retryAfterSeconds = more.retryAfterSeconds
    this.code = code
    this.issues = more.issues
    this.details = more.details
  }
}

export const notFound = (what: string) => new AppError('not_found', `${what} not found`)
/** Of a mail's token, whatever is wrong with it. */
export const invalidToken = () => new AppError('invalid', 'Invalid or expired token')
export const conflict = (message: string, details: Record<string, string | number> = {}) =>
  new AppError('conflict', message, { details })

/** A field of the input that cannot be: 400 with one issue. The issue leaves out what `path` says, should `message` begin with it. */
export function invalidField(path: string, message: string): AppError {
  const prefix = `${path}: `
  const own = message.startsWith(prefix) ? message.slice(prefix.length) : message
  return new AppError('invalid', message, { issues: [{ path, message: own }] })
}

/** The constraint that a failed statement broke, by name; undefined when it failed of anything else. */
export function violatedConstraint(error: unknown): string | undefined {
  return databaseError(error)?.constraint
}

/** For `.catch`: turns the breaking of one named constraint into an AppError and throws everything else on. */
export function onConstraint(constraint: string, toError: () => AppError) {
  return (error: unknown): never => {
    throw violatedConstraint(error) === constraint ? toError() : error
  }
}

/** Class 28 and 3D000 too: its password is being changed, or it is being restored. */
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

/** Whether the database was away, overloaded or shutting down, so that the same call may succeed a moment later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const known = databaseError(error)
  if (known?.code) return unavailableSqlStates.some((state) => state.test(known.code ?? ''))
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  if (!(cause instanceof Error)) return false
  if (cause instanceof AggregateError) return cause.errors.some(isDatabaseUnavailable)
  return (
    unavailableSystemCodes.has((cause as NodeJS.ErrnoException).code ?? '') ||
    unavailableDriverMessages.test(cause.message)
  )
}

/** Whether a statement failed with one of these SQLSTATEs. */
export function hasSqlState(error: unknown, states: readonly string[]): boolean {
  return states.includes(databaseError(error)?.code ?? '')
}

/**
 * Whether it may have been a single one of those that were written together who made the transaction fail: wrong data,
 * or another's lock. Then nothing of it was kept, for certain.
 */
export function isRowSpecificError(error: unknown): boolean {
  return /^(2[23]|40001|40P01|54|55P03)/.test(databaseError(error)?.code ?? '')
}

/** Why a program could not start, in a line where the cause is a known one. */
export function describeStartupError(error: unknown): unknown {
  const { code, port } = error as { code?: string; port?: number }
  if (code === 'EADDRINUSE') return `Port ${port} is taken`
  // undefined_table, undefined_column
  if (/^42P01$|^42703$/.test(databaseError(error)?.code ?? '')) return 'Migrations are pending: run pnpm migrate'
  if (!isDatabaseUnavailable(error)) return withoutParameters(error)
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  return `PostgreSQL is away: ${cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause)}`
}

/**
 * The error as a log may hold it: of a failed statement without its parameters, which are people's data and hashes, be it
 * the error itself or what caused it.
 */
export function withoutParameters(error: unknown): unknown {
  if (error instanceof DrizzleQueryError) return new Error(`Failed query: ${error.query}`, { cause: error.cause })
  if (!(error instanceof Error) || !(error.cause instanceof Error)) return error
  const cause = withoutParameters(error.cause)
  return cause === error.cause ? error : Object.assign(new Error(error.message, { cause }), { name: error.name })
}

function databaseError(error: unknown): pg.DatabaseError | undefined {
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  return cause instanceof pg.DatabaseError ? cause : undefined
}
