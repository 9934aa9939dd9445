import { and, eq } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import type { ContactId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'
import type { TrackingConsentWithProofs } from './tracking-consent.schema.ts'
import { findConsentRow, toTrackingConsent } from './tracking-consents.ts'

/** Returns what a contact chose about tracking, with its proofs; an empty page if it has not chosen anything. */
export async function listTrackingConsentOfContact(
  ctx: Ctx,
  contactId: ContactId,
): Promise<Page<TrackingConsentWithProofs>> {
  const [contact] = await ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, contactId)))
  const row = contact && (await findConsentRow(ctx, contactId))
  if (!row) return { data: [], nextCursor: null }
  return { data: [{ ...(await toTrackingConsent(ctx, contact, row)), proofs: row.proofs }], nextCursor: null }
}
