import { and, eq, inArray, isNull, lt, or, sql } from 'drizzle-orm'
import { findOrCreateContact, lockCurrentContact, noteSubscriptionChange, readContact } from '../contacts/contacts.ts'
import { type BaseCtx, type Ctx, inTransaction } from '../context.ts'
import { AppError } from '../errors.ts'
import { emit } from '../events.ts'
import { toTimestamp, toTimestampOrNull } from '../fields.ts'
import { enqueueMail } from '../mail/mails.ts'
import { subscriptions } from '../schema.ts'
import { openConfirmation, openUnsubscribe, type SubscriptionLink } from './links.ts'
import { enterAsStranger } from './lists.ts'
import { findOptOuts, forgetOptOut } from './opt-outs.ts'
import type { SubscribeInput, Subscription } from './lists.schema.ts'

/**
 * A stranger asks to be subscribed. Says nothing of what was known before. Mails a confirmation link, at most one in
 * ten minutes for each address and list; on a list without double opt-in a new subscriber is confirmed at once, but
 * someone who once opted out must confirm by the link even there, since anybody can type their address.
 */
export async function subscribe(base: BaseCtx, listId: string, input: SubscribeInput): Promise<void> {
  const { ctx: stranger, doubleOptIn } = await enterAsStranger(base, listId)
  await inTransaction(stranger, async (ctx) => {
    const contact = await findOrCreateContact(ctx, { ...input, source: 'subscription' })
    const link = { workspaceId: ctx.workspaceId, listId, contactId: contact.id }
    const optOuts = await findOptOuts(ctx, listId, [contact.email])
    if (!doubleOptIn && optOuts.size === 0 && (await confirmAtOnce(ctx, link))) return
    const requested = await requestConfirmation(ctx, link)
    if (requested)
      await enqueueMail(ctx, { kind: 'CONFIRMATION', to: contact.email, data: { listId, contactId: contact.id } })
  })
}

/** Confirms by the token of a mail. Idempotent; but a link from before an opt-out does not undo it. */
export async function confirmSubscription(base: BaseCtx, token: string): Promise<void> {
  const { issuedAt, ...named } = openConfirmation(base, token)
  await inTransaction(strangerIn(base, named), async (ctx) => {
    const link = { ...named, contactId: await lockCurrentContact(ctx, named.contactId) }
    const [confirmed] = await ctx.db
      .update(subscriptions)
      .set({ status: 'CONFIRMED', confirmedAt: sql`now()`, unsubscribedAt: null })
      .where(
        and(
          matches(link),
          inArray(subscriptions.status, ['PENDING', 'UNSUBSCRIBED']),
          or(isNull(subscriptions.unsubscribedAt), lt(subscriptions.unsubscribedAt, issuedAt)),
        ),
      )
      .returning()
    if (confirmed) {
      const { email } = await readContact(ctx, link.contactId)
      await forgetOptOut(ctx, link.listId, email)
      return tell(ctx, 'subscription.confirmed', confirmed)
    }
    const [current] = await ctx.db.select().from(subscriptions).where(matches(link))
    if (current?.status !== 'CONFIRMED') throw new AppError('invalid', 'Invalid or expired link')
  })
}

/** Unsubscribes by the token of a mail. Idempotent, and content when the contact or the list is gone. */
export async function unsubscribe(base: BaseCtx, token: string): Promise<void> {
  const named = openUnsubscribe(base, token)
  await inTransaction(strangerIn(base, named), async (ctx) => {
    const link = { ...named, contactId: await lockCurrentContact(ctx, named.contactId) }
    const [left] = await ctx.db
      .update(subscriptions)
      .set({ status: 'UNSUBSCRIBED', unsubscribedAt: sql`now()` })
      .where(and(matches(link), inArray(subscriptions.status, ['PENDING', 'CONFIRMED'])))
      .returning()
    if (left) await tell(ctx, 'subscription.unsubscribed', left)
  })
}

async function confirmAtOnce(ctx: Ctx, link: SubscriptionLink): Promise<boolean> {
  const [row] = await ctx.db
    .insert(subscriptions)
    .values({ ...link, status: 'CONFIRMED', source: 'public', confirmedAt: sql`now()` })
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { status: 'CONFIRMED', confirmedAt: sql`now()` },
      setWhere: eq(subscriptions.status, 'PENDING'),
    })
    .returning({ ...columns, inserted: sql<boolean>`xmax = 0` })
  if (!row) return false
  const { inserted, ...subscription } = row
  if (inserted) await emit(ctx, 'subscription.created', toSubscription(subscription))
  await tell(ctx, 'subscription.confirmed', subscription)
  return true
}

/** Whether a confirmation is to be mailed: not to who is confirmed or complained, and not again within ten minutes. */
async function requestConfirmation(ctx: Ctx, link: SubscriptionLink): Promise<boolean> {
  const [row] = await ctx.db
    .insert(subscriptions)
    .values({ ...link, status: 'PENDING', source: 'public', confirmationRequestedAt: sql`now()` })
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { confirmationRequestedAt: sql`now()` },
      setWhere: sql`${subscriptions.status} in ('PENDING', 'UNSUBSCRIBED')
        and coalesce(${subscriptions.confirmationRequestedAt} < now() - interval '10 minutes', true)`,
    })
    .returning({ ...columns, inserted: sql<boolean>`xmax = 0` })
  if (!row) return false
  const { inserted, ...subscription } = row
  if (inserted) await tell(ctx, 'subscription.created', subscription)
  return true
}

type SubscriptionEvent = 'subscription.created' | 'subscription.confirmed' | 'subscription.unsubscribed'
type SubscriptionRow = Omit<typeof subscriptions.$inferSelect, 'workspaceId' | 'confirmationRequestedAt'>

async function tell(ctx: Ctx, type: SubscriptionEvent, row: SubscriptionRow) {
  await noteSubscriptionChange(ctx, [row.contactId])
  await emit(ctx, type, toSubscription(row))
}

function strangerIn(base: BaseCtx, link: SubscriptionLink): Ctx {
  return { ...base, workspaceId: link.workspaceId, actor: { kind: 'public' } }
}

function matches(link: SubscriptionLink) {
  return and(
    eq(subscriptions.workspaceId, link.workspaceId),
    eq(subscriptions.listId, link.listId),
    eq(subscriptions.contactId, link.contactId),
  )
}

const columns = {
  listId: subscriptions.listId,
  contactId: subscriptions.contactId,
  status: subscriptions.status,
  source: subscriptions.source,
  confirmedAt: subscriptions.confirmedAt,
  unsubscribedAt: subscriptions.unsubscribedAt,
  createdAt: subscriptions.createdAt,
}

function toSubscription(row: SubscriptionRow): Subscription {
  return {
    contactId: row.contactId,
    listId: row.listId,
    status: row.status,
    source: row.source,
    confirmedAt: toTimestampOrNull(row.confirmedAt),
    unsubscribedAt: toTimestampOrNull(row.unsubscribedAt),
    createdAt: toTimestamp(row.createdAt),
  }
}
