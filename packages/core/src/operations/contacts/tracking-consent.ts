/** What a contact chooses about the tracking of opens and clicks. Only the contact can grant; everybody may deny for it. */
import { audit } from '../../audit/audit.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { withLinkedContact } from '../../contacts/with-linked-contact.ts'
import { conflict, invalidToken, notFound } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { recordUsedLink } from '../../mail/budget/visitor-mails.ts'
import { type BaseCtx, type Ctx, inTransaction } from '../../request/context.ts'
import { grantByLink } from '../../consent/tracking/grant-tracking.ts'
import type { TrackingConsent, TrackingConsentInput } from '../../consent/tracking/tracking-consent.schema.ts'
import {
  denyByContact,
  findTrackingState,
  readTrackingChoices,
  toTrackingConsent,
} from '../../consent/tracking/tracking-consents.ts'
import { openTrackingConfirmation } from '../../consent/tracking/tracking-links.ts'

/** Reads what a contact chose. Throws `not_found`. */
export async function readTrackingConsent(ctx: Ctx, id: ContactId): Promise<TrackingConsent> {
  const contact = await readContact(ctx, id)
  return toTrackingConsent(ctx, contact, await findTrackingState(ctx, id))
}

/**
 * Records a denial that the person told the operator: it counts at once, also for emails that were sent before. Once more
 * is no error. Throws `consent_required` for a grant: only the person can. Throws `not_found`.
 */
export async function setTrackingConsent(
  ctx: Ctx,
  id: ContactId,
  input: TrackingConsentInput,
): Promise<TrackingConsent> {
  const { opens, clicks, note = null } = input
  if (opens === 'GRANTED' || clicks === 'GRANTED')
    throw conflict(
      'consent_required',
      'Only the person can grant tracking: by a form field with the purpose TRACKING, or on their preferences page',
    )
  const denied = { opens: opens === 'DENIED', clicks: clicks === 'DENIED' }
  return inTransaction(ctx, async (ctx) => {
    const contact = await lockContact(ctx, id)
    if (!contact) throw notFound('Contact')
    const isNew = await denyByContact(ctx, contact, { method: 'OPERATOR', ...denied, note })
    if (isNew) await audit(ctx, 'contact.tracking_denied', { subjectId: id })
    return toTrackingConsent(ctx, contact, await findTrackingState(ctx, id))
  })
}

/**
 * Grants what a contact asked for, by the token of an email. Idempotent. A link from before a denial does not undo it,
 * and a link mailed to a former address of the contact is invalid.
 */
export async function confirmTrackingConsent(base: BaseCtx, token: string): Promise<void> {
  const link = openTrackingConfirmation(base, token)
  await withLinkedContact(base, link, {
    refuse: invalidToken,
    act: async (ctx, contact) => {
      if ((await grantByLink(ctx, contact, link)).length > 0)
        return recordUsedLink(ctx, { kind: 'TRACKING_CONSENT', contactId: contact.id })
      const choices = await readTrackingChoices(ctx, contact)
      if (!link.scope.every((action) => choices[action] === 'GRANTED')) throw invalidToken()
    },
  })
}
