import { and, eq } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import type { ContactId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'
import type { TrackingConsentWithProofs } from './tracking-consent.schema.ts'
import { findTrackingState, toTrackingConsent } from './tracking-consents.ts'

/** Returns what a contact, or its address before, chose about tracking, with its proofs; an empty page if nothing is known. */
export async function listTrackingConsentOfContact(
  ctx: Ctx,
  contactId: ContactId,
): Promise<Page<TrackingConsentWithProofs>> {
  const [contact] = await ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, contactId)))
  if (!contact) return { data: [], nextCursor: null }
  const row = await findTrackingState(ctx, contactId)
  const consent = await toTrackingConsent(ctx, contact, row)
  const isUnknown = !row && consent.opens === 'UNKNOWN' && consent.clicks === 'UNKNOWN'
  return { data: isUnknown ? [] : [{ ...consent, proofs: row?.proofs ?? [] }], nextCursor: null }
}
