/** The texts of errors for the terminal. */
import { AppError, isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'
import { ConfigError } from '@rapport/core/runtime/config.ts'
import { ApiError, ConnectionError, RapportError } from '@rapport/sdk'
import { CommandFailed } from './command.ts'

/** Returns the message of an expected error, and the stack of a defect. */
export function describeError(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof ConfigError) return error.message
  if (error instanceof RapportError) return describeApiFailure(error)
  if (error instanceof AppError) return [error.message, ...(error.issues ?? []).map(({ path }) => path)].join(' ')
  if (isDatabaseUnavailable(error)) return `The database is unavailable: ${databaseReasonOf(error)}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Describes in a sentence why a request to the API failed. */
export function describeApiFailure(error: RapportError): string {
  if (error instanceof ConnectionError) return `The API does not respond (${reasonOf(error)})`
  // "401 Missing or invalid credential"
  return error instanceof ApiError ? `The API returned ${error.message.replace(' ', ': ')}` : error.message
}

/** The errors of fetch and of the SDK have the actual reason in their cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'timed out'
  return error.cause === undefined ? ((error as NodeJS.ErrnoException).code ?? error.message) : reasonOf(error.cause)
}

function databaseReasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof AggregateError) return cause.errors.map((one) => (one as Error).message).join(', ')
  return cause instanceof Error ? cause.message : String(cause)
}
