/**
 * How a contact grants tracking: it asks, by a form or the preferences page, and the grant counts once it has used the
 * link in an email. Anybody can fill in a form with the address of another person, and forward the link to a page.
 */
import type { TrackingProof } from '../../db/schema/index.ts'
import { requestConfirmationMail } from '../../mail/request-confirmation-mail.ts'
import { clientAddressOf, type Ctx } from '../../request/context.ts'
import { type AddressedContact, readSuppressions } from '../consent-records.ts'
import { canConfirm } from '../suppression-rows.ts'
import { actionsOf, confirm, noTrackingState, request, wouldGrant } from './change-tracking.ts'
import {
  changeTracking,
  type ChoiceSource,
  createProof,
  findTrackingState,
  readTrackingChoices,
} from './tracking-consents.ts'
import { liftTrackingDenials } from './tracking-denials.ts'
import type { TrackedAction } from './tracking-level.ts'
import { type Timestamp, timestampNow } from '../../kernel/values/timestamps.ts'

/** What a contact asks to grant and has not granted yet. */
export async function readGrantScope(
  ctx: Ctx,
  contact: AddressedContact,
  source: ChoiceSource,
): Promise<TrackedAction[]> {
  const choices = await readTrackingChoices(ctx, contact)
  return actionsOf(source).filter((action) => choices[action] !== 'GRANTED')
}

/** Stores the request of a locked contact that an email asks to confirm. */
export async function storeTrackingRequest(ctx: Ctx, contact: AddressedContact, source: ChoiceSource): Promise<void> {
  const proof = createProof(ctx, 'GRANTED', { email: contact.email, source })
  await changeTracking(ctx, contact, (current) => request(current, proof))
}

/**
 * Emails a locked contact the link that grants tracking, within the limits of `takeConfirmationQuota`. `locale` is that
 * of the page where it asks. Returns whether an email is sent: not if everything is granted already, and not to an
 * address that bounced or is blocked.
 */
export async function requestGrant(
  ctx: Ctx,
  contact: AddressedContact,
  { source, locale }: { source: ChoiceSource; locale?: string | null | undefined },
): Promise<boolean> {
  const { id: contactId, email } = contact
  const tracking = await readGrantScope(ctx, contact, source)
  if (tracking.length === 0 || !canConfirm(await readSuppressions(ctx, { email }))) return false
  const current = (await findTrackingState(ctx, contactId)) ?? noTrackingState
  const isRefused = (issuedAt: Timestamp) => !wouldGrant(current, { scope: tracking, issuedAt, email })
  const mail = { kind: 'TRACKING_CONSENT', email, contactId, isRefused, tracking, locale } as const
  if (!(await requestConfirmationMail(ctx, mail))) return false
  await storeTrackingRequest(ctx, contact, source)
  return true
}

/**
 * Grants what a locked contact asked for, because it used the link in an email. Returns what is granted: nothing, without
 * any effect, if the link names nothing that it still asks for, or is older than a denial.
 */
export async function grantByLink(
  ctx: Ctx,
  contact: AddressedContact,
  link: { scope: readonly TrackedAction[]; issuedAt: Timestamp },
): Promise<TrackedAction[]> {
  const { email } = contact
  const used: Pick<TrackingProof, 'confirmedAt' | 'confirmedFrom'> = {
    confirmedAt: timestampNow(),
    confirmedFrom: clientAddressOf(ctx),
  }
  const current = (await findTrackingState(ctx, contact.id)) ?? noTrackingState
  const confirmed = confirm(current, { ...link, email }, used)
  if (!confirmed) return []
  await liftTrackingDenials(ctx, email, confirmed.granted)
  await changeTracking(ctx, contact, () => confirmed.state)
  return confirmed.granted
}
