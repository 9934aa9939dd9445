import { and, eq } from 'drizzle-orm'
import { type Consent, subscriptions } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { type Page, readPage } from '../request/paging.ts'
import { subscriptionColumns, type SubscriptionRow, toSubscription } from './subscription-record.ts'
import type { SubscriptionWithConsents } from './subscriptions.schema.ts'

type Row = SubscriptionRow & Pick<typeof subscriptions.$inferSelect, 'consent'>

/** Returns a page of the subscriptions of a contact with their proofs of consent. */
export async function listSubscriptionsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: { limit: number; cursor?: string | undefined },
): Promise<Page<SubscriptionWithConsents>> {
  const page = await readPage<Row>(ctx, {
    name: `subscriptions ${contactId}`,
    query: { ...query, sort: 'createdAt' },
    key: { column: subscriptions.createdAt, type: 'timestamptz', valueOf: (row) => row.createdAt },
    id: { column: subscriptions.listId, valueOf: (row) => row.listId },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select({ ...subscriptionColumns, consent: subscriptions.consent })
        .from(subscriptions)
        .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.contactId, contactId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return {
    ...page,
    data: page.data.map((row) => ({ ...toSubscription(row), consents: (row.consent ?? []).map(toConsent) })),
  }
}

function toConsent(consent: Consent) {
  const { suppressionId: _, issuedAt: _link, formerEmailHash = null, note = null, claimed = false, ...shown } = consent
  return { ...shown, formerEmailHash, note, claimed }
}
