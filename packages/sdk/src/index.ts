export {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  IdempotencyError,
  type Issue,
  NotFoundError,
  PermissionError,
  PreconditionFailedError,
  RapportError,
  RateLimitError,
  ServerError,
  TimeoutError,
  ValidationError,
  WebhookSignatureError,
} from './errors.ts'
export type { FollowOptions } from './events.ts'
export type { WebhookEvent } from './generated/operations.gen.ts'
export type * from './generated/types.gen.ts'
export type { WaitOptions } from './imports.ts'
export { parseNdjson } from './ndjson.ts'
export type { RapportOptions, RequestOptions } from './options.ts'
export type { ApiPromise, PagePromise, WithResponse } from './promises.ts'
export { Rapport } from './rapport.ts'
export type { FileContent, Upload } from './upload.ts'
export { type UnwrapOptions, unwrapWebhook, type WebhookHeaders } from './webhooks.ts'
