import { DrizzleQueryError } from 'drizzle-orm'
import { startOfText } from './values/text.ts'

/** What a client can switch on. The API maps each code to one status. */
export const errorCodes = [
  'validation_error',
  'invalid_token',
  'unauthorized',
  'forbidden',
  'workspace_suspended',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'already_exists',
  'identity_conflict',
  'in_use',
  'wrong_state',
  'opted_out',
  'consent_required',
  'domain_not_verified',
  'quota_exceeded',
  'request_in_progress',
  'precondition_failed',
  'payload_too_large',
  'unsupported_media_type',
  'idempotency_conflict',
  'internal_error',
  'unavailable',
] as const

/** The last two are not shown: the specification words the bodies of their responses, which have no code. */
export type ErrorCode = (typeof errorCodes)[number] | 'no_recipients' | 'rate_limited'

type ConflictCode =
  | 'already_exists'
  | 'in_use'
  | 'wrong_state'
  | 'opted_out'
  | 'consent_required'
  | 'domain_not_verified'
  | 'quota_exceeded'
  | 'request_in_progress'

/** One invalid value: its path in the input (`fields.0.label`) and what is wrong with it. */
export interface Issue {
  path: string
  message: string
}

type Detail = string | number | readonly string[]

/** An error for the client: `message` and `details` are public. The details of any other error stay internal. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly issues: readonly Issue[] | undefined
  readonly details: Readonly<Record<string, Detail>> | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { issues?: Issue[]; details?: Record<string, Detail>; retryAfterSeconds?: number } = {},
  ) {
    super(message)
    this.retryAfterSeconds = options.retryAfterSeconds
    this.code = code
    this.issues = options.issues
    this.details = options.details
  }
}

export const notFound = (what: string) => new AppError('not_found', `${what} not found`)
/** The same error for every missing, unknown, expired or revoked credential. `hint` says what to send. */
export const unauthenticated = (hint = 'Authorization: Bearer <API key>') =>
  new AppError('unauthorized', `Missing or invalid credential: send "${hint}"`)
/** For the tokens of emails. The error does not say whether the token is wrong, used or expired. */
export const invalidToken = () => new AppError('invalid_token', 'Invalid or expired token')
/** The same for the links of emails. */
export const invalidLink = () => new AppError('invalid_token', 'Invalid or expired link')
/**
 * An error about the current state of a record. `details` are added to the body, such as the id of the other record.
 */
export const conflict = (code: ConflictCode, message: string, details: Record<string, Detail> = {}) =>
  new AppError(code, message, { details })

/** For a request that lost a race, for example to the deletion of a record that it refers to. */
export const changedConcurrently = () =>
  new AppError('unavailable', 'A concurrent request changed related data; retry the request')

/** A validation error with one issue. If `message` starts with the path, the message of the issue omits it. */
export function invalidField(path: string, message: string): AppError {
  const prefix = `${path}: `
  const own = message.startsWith(prefix) ? message.slice(prefix.length) : message
  return new AppError('validation_error', message, { issues: [{ path, message: own }] })
}

/** A validation error with all of its issues. The message is about the first one. */
export function invalidFields(issues: Issue[]): AppError {
  const [{ path, message } = { path: '', message: 'is invalid' }] = issues
  return new AppError('validation_error', path ? `${path}: ${message}` : message, { issues })
}

const maxIssues = 100
const maxTextLength = 500

/** Field names come from the request: limits the number of issues and their length. */
export function limitIssues(issues: readonly Issue[]): Issue[] {
  return issues
    .slice(0, maxIssues)
    .map(({ path, message }) => ({ path: truncateText(path), message: truncateText(message) }))
}

/** Limits the length of a public message that contains text of the request. */
export function truncateText(text: string, maxLength = maxTextLength): string {
  return text.length > maxLength ? `${startOfText(text, maxLength)}…` : text
}

/** Returns the message of the first cause; if several addresses were tried, the message of each. */
export function rootMessageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return rootMessageOf(error.cause)
  return error instanceof AggregateError ? error.errors.map(rootMessageOf).join(', ') : error.message
}

/** Removes the parameters of failed statements from an error and its causes: they hold personal data and hashes. */
export function withoutParameters(error: unknown): unknown {
  if (error instanceof DrizzleQueryError) return new Error(`Failed query: ${error.query}`, { cause: error.cause })
  if (!(error instanceof Error) || !(error.cause instanceof Error)) return error
  const cause = withoutParameters(error.cause)
  return cause === error.cause ? error : Object.assign(new Error(error.message, { cause }), { name: error.name })
}
