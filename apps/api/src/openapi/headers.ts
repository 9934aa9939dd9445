/** The response headers of the OpenAPI document. */
const text = { type: 'string' }
const whole = { type: 'integer', minimum: 0 }

export const headers = {
  location: { description: 'The URL of the record, or of the page to show next.', schema: text },
  etag: {
    description: 'The version of the record. Send it as `If-Match` to change the record only if it is still the same.',
    schema: text,
  },
  'idempotent-replayed': {
    description: '`true` if this is the stored response of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  'matched-by': {
    description: 'The key that found the record. `none`: the record was created.',
    schema: { type: 'string', enum: ['externalId', 'email', 'domain', 'none'] },
  },
  'x-request-id': {
    description: 'The id of the request in the logs: that of the request header `x-request-id`, or a new one.',
    required: true,
    schema: text,
  },
  'x-ratelimit-limit': { description: 'Allowed requests per 60 seconds to this endpoint.', schema: whole },
  'x-ratelimit-remaining': { description: 'Remaining requests until the limit resets.', schema: whole },
  'x-ratelimit-reset': { description: 'Seconds until the limit resets.', schema: whole },
  'retry-after': { description: 'Seconds to wait before the next attempt.', schema: whole },
  'accept-encoding': {
    description: 'The supported content encodings, if that of the request was wrong.',
    schema: text,
  },
  'www-authenticate': { description: 'The authentication scheme: `Bearer`.', schema: text },
} as const
