/** The texts and the codes of errors for the terminal. */
import { inspect } from 'node:util'
import { describeStartupError, isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { AppError, withoutParameters } from '@rapport/core/kernel/errors.ts'
import { ConfigError } from '@rapport/core/runtime/config.ts'
import { ApiError, ConnectionError, RapportError } from '@rapport/sdk'
import { CommandFailed, exitCodes } from './command.ts'

/** Returns the message of an expected error, and the stack of a defect and of its causes. */
export function describeError(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof ConfigError) return error.message
  if (error instanceof RapportError) return describeApiFailure(error)
  if (error instanceof AppError) return error.message
  const known = describeStartupError(error)
  if (typeof known === 'string') return known
  return inspect(withoutParameters(error))
}

/** The exit code of a command that failed with this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailed) return error.exitCode
  return error instanceof ConfigError ? exitCodes.config : exitCodes.failed
}

/** The code for programs, as in the errors of the API where it has one for the case. */
export function errorCodeOf(error: unknown): string {
  if (error instanceof CommandFailed && error.cause !== undefined) return errorCodeOf(error.cause)
  if (error instanceof AppError) return error.code
  if (error instanceof ApiError) return error.code ?? 'api_error'
  if (error instanceof ConnectionError || isDatabaseUnavailable(error)) return 'unavailable'
  const exitCode = exitCodeOf(error)
  if (exitCode === exitCodes.usage) return 'invalid_command_line'
  if (exitCode === exitCodes.config) return 'invalid_environment'
  return error instanceof CommandFailed ? 'failed' : 'internal_error'
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
