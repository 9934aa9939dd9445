import { openPayload, sealPayload } from '../../kernel/crypto.ts'
import { invalidToken } from '../../kernel/errors.ts'
import { type ContactId, idOf, uuidOf, type WorkspaceId } from '../../kernel/ids.ts'
import { type BaseCtx, type Ctx, pagesUrlOf, requireLinkAtHost } from '../../request/context.ts'
import type { TrackedAction } from './tracking-level.ts'
import { type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'

export interface TrackingConfirmation {
  workspaceId: WorkspaceId
  contactId: ContactId
  email: string
  issuedAt: Timestamp
  scope: TrackedAction[]
}

const lifetimeMs = 7 * 24 * 60 * 60 * 1000
const purpose = 'confirm tracking'

/**
 * Returns the link that confirms a grant. It is valid for seven days from `issuedAt`, and only while the contact has the
 * email address that the link is mailed to. The same input returns the same link.
 */
export function trackingConfirmationUrl(
  ctx: Ctx,
  {
    contactId,
    email,
    issuedAt,
    scope,
  }: { contactId: ContactId; email: string; issuedAt: Timestamp; scope: TrackedAction[] },
): string {
  const ids = [ctx.workspaceId, contactId].map(uuidOf)
  const payload = [...ids, Date.parse(issuedAt), email, scope.join(' ')]
  const token = sealPayload(ctx.settings.keys.links, purpose, payload)
  return `${pagesUrlOf(ctx)}/public/tracking/confirm?token=${token}`
}

/** Opens the token of a link. Throws `invalid_token` if it is forged, damaged or expired, without a database query. */
export function openTrackingConfirmation(base: BaseCtx, token: string, now = Date.now()): TrackingConfirmation {
  const payload = openPayload(base.settings.keys.links, purpose, token)
  const issuedAt = Number(payload?.[2])
  if (!payload || now - issuedAt > lifetimeMs) throw invalidToken()
  const [workspace, contact, , email, scope] = payload.map(String)
  const workspaceId = idOf('wsp', workspace ?? '')
  requireLinkAtHost(base, workspaceId)
  return {
    workspaceId,
    contactId: idOf('con', contact ?? ''),
    email: email ?? '',
    issuedAt: timestampAt(issuedAt),
    scope: (scope ?? '').split(' ') as TrackedAction[],
  }
}
