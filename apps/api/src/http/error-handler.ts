import { STATUS_CODES } from 'node:http'
import { HttpError } from '@fastify/sensible'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import {
  AppError,
  type ErrorCode,
  errorCodes,
  limitIssues,
  truncateText,
  withoutParameters,
} from '@rapport/core/kernel/errors.ts'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { unsupportedType } from './body/body-encoding.ts'
import { describeErrorCodes } from './error-codes.ts'

/** The HTTP status of each error code. A new code does not compile without one. */
const statuses: Record<ErrorCode, number> = {
  validation_error: 400,
  invalid_token: 400,
  no_recipients: 400,
  unauthorized: 401,
  forbidden: 403,
  workspace_suspended: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_exists: 409,
  identity_conflict: 409,
  in_use: 409,
  wrong_state: 409,
  opted_out: 409,
  consent_required: 409,
  domain_not_verified: 409,
  quota_exceeded: 409,
  request_in_progress: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_conflict: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
}

/** The codes of errors that Fastify and its plugins report by status. */
const codesByStatus: Record<number, PublicErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  412: 'precondition_failed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
}

const codeOfStatus = (statusCode: number) => codesByStatus[statusCode] ?? 'validation_error'

export type PublicErrorCode = (typeof errorCodes)[number]

export const ErrorBody = z
  .looseObject({
    statusCode: z.number().int().describe('The HTTP status.'),
    message: z.string().describe('What is wrong, in English. The wording may change: switch on `code` instead.'),
    error: z.string().optional().describe('The name of the HTTP status. A 429 has none.'),
    code: z.enum(errorCodes).optional().describe(describeErrorCodes()),
    docUrl: z.url().optional().describe('The paragraph of the documentation about the code. Present if `code` is.'),
    issues: z
      .array(
        z.object({
          path: z.string().describe('The path of the field, such as `fields.0.label`. Empty for the whole body.'),
          message: z.string().describe('What is wrong with the value.'),
        }),
      )
      .optional()
      .describe('The invalid fields, for `validation_error`, or the field whose value is taken, for `already_exists`.'),
  })
  .meta({
    id: 'Error',
    description:
      'The body of every error response. Some errors have more properties, such as `contactId` or `contactIds`.',
    examples: [
      {
        statusCode: 404,
        message: 'Contact not found',
        error: 'Not Found',
        code: 'not_found',
        docUrl: 'https://crm.example.com/docs/errors#not_found',
      },
    ],
  })
export type ErrorBody = z.output<typeof ErrorBody>

declare module 'fastify' {
  interface FastifyInstance {
    /** Where the documentation of the errors is. */
    errorDocs: string
  }
}

/** Shows a browser the error of a status. Returns undefined for other statuses and for programs. */
export type ShowErrorPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined

export const errorHandler = fp(
  async (app: FastifyInstance, { publicUrl, showPage }: { publicUrl: string; showPage: ShowErrorPage }) => {
    app.decorate('errorDocs', errorDocsOf(publicUrl))
    app.setErrorHandler((error, request, reply) => {
      const body = startErrorResponse(error, request, reply)
      return showPage(request, reply) ?? sendErrorBody(body, request, reply)
    })
  },
  { name: 'error-handler', dependencies: ['@fastify/sensible'] },
)

/** The guide on errors has a row for each code, with the code as its anchor. */
export const errorDocsOf = (publicUrl: string) => `${publicUrl}/docs/errors`

/** Adds `docUrl` to the body of a JSON response. The two bodies without a code are worded by the specification. */
export function withDocUrl(body: ErrorBody, { server }: Pick<FastifyRequest, 'server'>): ErrorBody {
  return body.code === undefined ? body : { ...body, docUrl: `${server.errorDocs}#${body.code}` }
}

/** The response body for an error; undefined for an internal error, which must not be exposed. */
export function toErrorBody(error: unknown): ErrorBody | undefined {
  if (error instanceof AppError) {
    const { message, issues, details } = error
    if (error.code === 'rate_limited') return tooManyRequests
    // The specification defines this body, without a code.
    const code = error.code === 'no_recipients' ? undefined : error.code
    return createErrorBody(statuses[error.code], message, {
      code,
      ...details,
      ...(issues && { issues: limitIssues(issues) }),
    })
  }
  if (error instanceof HttpError) return httpErrorBody(error as HttpError)
  // Checked before the database: a lost client connection has the same error code as a lost database connection.
  const { statusCode, code } = error as FastifyError
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return createErrorBody(statusCode, frameworkMessage(code), { code: codeOfStatus(statusCode) })
  if (isDatabaseUnavailable(error))
    return createErrorBody(503, 'Temporarily unavailable; try again', { code: 'unavailable' })
  return undefined
}

function httpErrorBody({ statusCode, message }: HttpError): ErrorBody | undefined {
  if (statusCode === 429) return tooManyRequests
  if (statusCode >= 500) return undefined
  // Libraries throw HttpErrors too, with the name of the status as the message.
  const text = message === STATUS_CODES[statusCode] ? frameworkMessage(undefined) : message
  return createErrorBody(statusCode, text, { code: codeOfStatus(statusCode) })
}

/** The specification defines this body for every 429; it has no `error`. */
const tooManyRequests: ErrorBody = { statusCode: 429, message: 'ThrottlerException: Too Many Requests' }

/** The public body for any error. Logs the error if the client did not cause it. */
export function toLoggedErrorBody(error: unknown, { id, log }: FastifyRequest): ErrorBody {
  const body = toErrorBody(error)
  if (!body) log.error({ err: withoutParameters(error) }, 'request failed')
  else if (body.statusCode >= 500) log.warn({ err: withoutParameters(error) }, 'service unavailable')
  return body ?? createErrorBody(500, 'Internal Server Error', { code: 'internal_error', requestId: id })
}

/** Sends every error as JSON, and logs the errors that the client did not cause. */
export function handleError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  return sendErrorBody(startErrorResponse(error, request, reply), request, reply)
}

function sendErrorBody(body: ErrorBody, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(withDocUrl(body, request)))
}

/**
 * Sets the status and the headers of an error response, and returns its JSON body; a page shows a text of its own. Logs
 * the errors that the client did not cause.
 */
export function startErrorResponse(error: unknown, request: FastifyRequest, reply: FastifyReply): ErrorBody {
  // The error of Fastify does not name the content type.
  const isUnsupportedType = (error as FastifyError).code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  const body = toLoggedErrorBody(isUnsupportedType ? unsupportedType(request) : error, request)
  if (body.statusCode === 401 && !reply.hasHeader('www-authenticate')) {
    // RFC 6750 §3.1: no error code for a request without a credential.
    const hasCredential = request.headers.authorization !== undefined
    reply.header('www-authenticate', hasCredential ? 'Bearer error="invalid_token"' : 'Bearer')
  }
  if (error instanceof HttpError && error.headers) reply.headers(error.headers)
  if (body.statusCode === 503) reply.header('retry-after', '1')
  if (error instanceof AppError && error.retryAfterSeconds) {
    reply.header('retry-after', error.retryAfterSeconds)
    // This is not the limit of the endpoint: replace the headers that the endpoint's limit has set.
    if (error.code === 'rate_limited')
      reply.header('x-ratelimit-remaining', 0).header('x-ratelimit-reset', error.retryAfterSeconds)
  }
  reply.code(body.statusCode)
  return body
}

function createErrorBody(
  statusCode: number,
  message: string,
  more: { code: PublicErrorCode | undefined } & Record<string, unknown>,
): ErrorBody {
  return { statusCode, message: truncateText(message), error: STATUS_CODES[statusCode] ?? 'Error', ...more }
}

const frameworkMessages: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is too large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body length does not match the Content-Length header',
  FST_ERR_BAD_URL: 'The path of the URL is invalid',
  FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER: 'Missing or invalid credential',
}

function frameworkMessage(code: string | undefined) {
  return (code && frameworkMessages[code]) ?? 'Invalid request'
}
