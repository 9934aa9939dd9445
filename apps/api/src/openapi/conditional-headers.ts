/** The request headers of routes that retrieve or change a record: see `http/conditional-requests`. */
import type { RouteOptions } from 'fastify'
import { isWrappedBy } from '../http/handlers/wrap-handler.ts'

const ifMatch = {
  type: 'string',
  description:
    'The `ETag` that the record had when you read it, or a list of them. If the record has changed since, the request has no effect and returns 412. `*` matches every version. Derived fields such as `lastActivityAt` and `confirmedCount` are part of the record: their changes change the `ETag`.',
}
const ifNoneMatch = {
  type: 'string',
  description: 'The `ETag` of the version that you have. If the record has not changed since, returns 304.',
}

/** Returns JSON Schemas by name. */
export function conditionalHeaders(route: RouteOptions): Record<string, object> {
  return {
    ...(isWrappedBy('ifMatch', route) && { 'If-Match': ifMatch }),
    ...(route.config?.etag === true && { 'If-None-Match': ifNoneMatch }),
  }
}
