import type { errorCodes } from '@rapport/core/kernel/errors.ts'

/** What each error code means. A new code does not compile without a description. */
const descriptions: Record<(typeof errorCodes)[number], string> = {
  validation_error: 'The request is invalid. `issues` names the fields.',
  invalid_token: 'The token from an email is wrong, used or expired.',
  unauthorized: 'The credential or the password is missing or wrong.',
  forbidden: 'The role of the credential is too low, or the operator does not allow it.',
  workspace_suspended: 'The operator has suspended the workspace: it can be read, but it changes and sends nothing.',
  not_found: 'The record or the route does not exist.',
  method_not_allowed: 'The path exists, but not with this method. The header `allow` has the methods that it has.',
  request_timeout: 'The body was sent too slowly.',
  already_exists: 'A record with this unique value already exists.',
  identity_conflict: 'The external id and the email address belong to different contacts, which `contactIds` names.',
  in_use: 'Other records still need this one.',
  wrong_state: 'The record is not in a state that allows this.',
  domain_not_verified: 'The workspace has not verified the domain of the sender, which the operator requires.',
  opted_out: 'The contact has opted out, and only they can subscribe again.',
  consent_required: 'Only the contact can grant tracking: by a form, or on its preferences page.',
  quota_exceeded: 'A quota is used up. `retry-after` says when to try again, where waiting helps.',
  request_in_progress: 'The first request with this `Idempotency-Key` is still running.',
  precondition_failed: 'The record has changed since it was read, does not exist, or a proxy has changed the `ETag`.',
  payload_too_large: 'The body is too large.',
  unsupported_media_type: 'The content type or encoding of the body is not supported.',
  idempotency_conflict: 'The `Idempotency-Key` was used for another request.',
  internal_error: 'An internal error. The log has the details under `requestId`.',
  unavailable: 'Temporarily unavailable. Try again.',
}

/** One line per code, as Markdown. */
export function describeErrorCodes(): string {
  const lines = Object.entries(descriptions).map(([code, description]) => `- \`${code}\`: ${description}`)
  return `The code to switch on. The two errors without a code are a 429, and a campaign without recipients.\n\n${lines.join('\n')}`
}
