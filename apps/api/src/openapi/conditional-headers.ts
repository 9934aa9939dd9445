/** The request headers of routes that retrieve or change a record: see `http/conditional-requests`. */
import type { FastifyContextConfig } from 'fastify'

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
export function conditionalHeaders(config: FastifyContextConfig = {}): Record<string, object> {
  return {
    ...(config.lockForIfMatch && { 'If-Match': ifMatch }),
    ...(config.etag === true && { 'If-None-Match': ifNoneMatch }),
  }
}
