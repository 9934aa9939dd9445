import type { Error as ErrorBody } from './generated/types.gen.ts'

export type ErrorCode = NonNullable<ErrorBody['code']>
export type Issue = NonNullable<ErrorBody['issues']>[number]

/** The base class of every error that the SDK throws, except errors of arguments and of an `AbortSignal`. */
export class RapportError extends Error {
  override name = 'RapportError'
}

/** No complete response arrived, also after the retries. The request may have taken effect. */
export class ConnectionError extends RapportError {
  override name = 'ConnectionError'
}

/** No complete response arrived within `timeoutMs`, also after the retries. The request may have taken effect. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError'
}

/** The signature of a webhook is missing or wrong, or its timestamp is outside the tolerance. Respond with 400. */
export class WebhookSignatureError extends RapportError {
  override name = 'WebhookSignatureError'
}

/** The API responded with an error. */
export class ApiError extends RapportError {
  override name = 'ApiError'
  /** The HTTP status. */
  readonly status: number
  /** The code to switch on. A 429 has none, and neither does the response of a proxy. */
  readonly code: ErrorCode | undefined
  /** The documentation of the code; undefined if there is no code. */
  readonly docUrl: string | undefined
  /** The invalid fields, for `validation_error`. Otherwise empty. */
  readonly issues: readonly Issue[]
  /** The id of the request in the logs of the API. */
  readonly requestId: string | undefined
  /** Seconds to wait before the next attempt, if the API says so. */
  readonly retryAfterSeconds: number | undefined
  readonly headers: Headers
  /** The parsed body, or its text if it is not JSON. It may have more fields, such as `contactId` of a duplicate. */
  readonly body: unknown

  constructor({ status, headers, url }: Response, body: unknown) {
    const {
      message,
      code,
      docUrl,
      issues: found,
    } = (typeof body === 'object' ? (body ?? {}) : {}) as Partial<ErrorBody>
    const issues = Array.isArray(found) ? found : []
    const lines = issues.map(({ path, message: text }) => (path ? `${path}: ${text}` : text))
    // The message of the API is the first issue.
    const fields = lines.flatMap((line) => (line === message ? [] : `\n  ${line}`)).join('')
    const location = headers.get('location')
    const problem = location === null ? 'returned no error message' : `redirects to ${location}`
    super(`${status} ${message ?? `${url || 'The API'} ${problem}`}${fields}`)
    this.status = status
    this.code = code
    this.docUrl = docUrl
    this.issues = issues
    this.requestId = headers.get('x-request-id') ?? undefined
    this.retryAfterSeconds = readRetryAfter(headers)
    this.headers = headers
    this.body = body
  }
}

/** 400: the request is invalid. `issues` names the fields. */
export class ValidationError extends ApiError {
  override name = 'ValidationError'
}
/** 401: the API key is missing, wrong, expired or revoked. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError'
}
/** 403: the role of the API key is too low. */
export class PermissionError extends ApiError {
  override name = 'PermissionError'
}
/** 404: the record does not exist in this workspace. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}
/** 409: the state of the record, or a quota, does not allow the request. `code` says which. */
export class ConflictError extends ApiError {
  override name = 'ConflictError'
}
/** 412: the record has changed since it was read (`ifMatch`). */
export class PreconditionFailedError extends ApiError {
  override name = 'PreconditionFailedError'
}
/** 422: the idempotency key was used for another request. */
export class IdempotencyError extends ApiError {
  override name = 'IdempotencyError'
}
/** 429: too many requests, also after the retries. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError'
}
/** 5xx: the API, or a proxy before it, failed. */
export class ServerError extends ApiError {
  override name = 'ServerError'
}

/** Creates the error of this response, as the class of its status. */
export function createApiError(response: Response, body: unknown): ApiError {
  const ErrorClass = classes[response.status] ?? (response.status >= 500 ? ServerError : ApiError)
  return new ErrorClass(response, body)
}

const classes: Record<number, typeof ApiError> = {
  400: ValidationError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionFailedError,
  422: IdempotencyError,
  429: RateLimitError,
}

/** `retry-after` is a number of seconds or a date (RFC 9110, section 10.2.3). */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
