/**
 * Opt-outs that an operator (a user or an API key of the workspace) records for a person: subscriptions end as if the
 * person had unsubscribed. The proof keeps the operator, the note, and the subscription as it was, so that a mistake can
 * be undone for ten minutes.
 */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { type OptOutProof, optOuts, subscriptions } from '../db/schema/index.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import { type Ctx, getActorId } from '../request/context.ts'
import { readSuppressions } from '../subscriptions/find-suppressions.ts'
import { isOptOutOf } from '../subscriptions/opt-outs.ts'
import {
  subscriptionConfirmed,
  subscriptionCreated,
  subscriptionUnsubscribed,
} from '../subscriptions/subscription-events.ts'
import { bySubscription, recordSubscriptionChange, subscriptionColumns } from '../subscriptions/subscription-record.ts'

type Row = typeof subscriptions.$inferSelect

export interface OptOut {
  contact: { id: ContactId; email: string }
  note: string | null
  at: Date
}

/** Reads the subscriptions of a locked contact, all or to one list. */
export async function readSubscriptions(ctx: Ctx, contactId: ContactId, listId?: ListId): Promise<Row[]> {
  const ofList = listId && eq(subscriptions.listId, listId)
  return ctx.db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.contactId, contactId), ofList))
}

/** Whether the person has left the list for good: by their own word, or as an operator reported it. */
export const hasOptedOut = ({ status, isRemoved }: Pick<Row, 'status' | 'isRemoved'>) =>
  status === 'COMPLAINED' || (status === 'UNSUBSCRIBED' && !isRemoved)

/**
 * Records an opt-out from a locked list, and emits `subscription.unsubscribed`. Returns false, without any effect, if the
 * contact has opted out of the list.
 */
export async function optOutOfList(ctx: Ctx, listId: ListId, optOut: OptOut): Promise<boolean> {
  const { contact, at } = optOut
  const [before] = await readSubscriptions(ctx, contact.id, listId)
  if (before && hasOptedOut(before)) return proveSeparately(ctx, before, optOut)
  const proof = createProof(ctx, optOut, before)
  const ended = { status: 'UNSUBSCRIBED', unsubscribedAt: at, isRemoved: false, replacedStatus: null } as const
  const { workspaceId } = ctx
  const [row] = await ctx.db
    .insert(subscriptions)
    .values({ workspaceId, listId, contactId: contact.id, ...ended, source: 'api', consent: [proof] })
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { ...ended, consent: withProof(proof) },
    })
    .returning(subscriptionColumns)
  if (row) await recordSubscriptionChange(ctx, row, [subscriptionUnsubscribed])
  return true
}

/**
 * Gives a subscription that an operator's opt-out from all lists has ended a proof of its own, so that an undo of that
 * opt-out leaves it ended. Returns false, without any effect, if something else has ended it.
 */
async function proveSeparately(ctx: Ctx, row: Row, optOut: OptOut): Promise<boolean> {
  const [proof, ...rest] = row.consent ?? []
  if (proof?.method !== 'OPERATOR' || !isCurrent(row, proof)) return false
  const reasons = await readSuppressions(ctx, { email: optOut.contact.email })
  if (!reasons.some(({ reason, createdAt }) => reason === 'OPTED_OUT' && createdAt === proof.at)) return false
  const own = { ...createProof(ctx, optOut, undefined), previous: proof.previous ?? null }
  await ctx.db
    .update(subscriptions)
    .set({ unsubscribedAt: optOut.at, consent: [own, ...rest] })
    .where(bySubscription(ctx, row))
  return true
}

/** Adds the proof to the subscriptions that an opt-out from all lists has just ended. */
export async function proveOptOut(ctx: Ctx, before: readonly Row[], optOut: OptOut): Promise<void> {
  for (const row of before.filter((one) => !hasOptedOut(one))) {
    await ctx.db
      .update(subscriptions)
      .set({ consent: withProof(createProof(ctx, optOut, row)) })
      .where(and(bySubscription(ctx, row), eq(subscriptions.status, 'UNSUBSCRIBED')))
  }
}

/**
 * Restores the subscriptions that an operator's opt-out ended after `since`, unless they have changed meanwhile, and
 * emits the events of the status that returns. A list that the address opted out of is left out: a change of address or a
 * merge stores the opt-out for both addresses, and consent for one is none for the other. Returns their number.
 */
export async function undoOptOuts(
  ctx: Ctx,
  { id, email }: OptOut['contact'],
  { listId, since, at }: { listId?: ListId | undefined; since: Date; at?: string },
): Promise<number> {
  const rows = await readSubscriptions(ctx, id, listId)
  const stored = await ctx.db.select({ listId: optOuts.listId }).from(optOuts).where(isOptOutOf(ctx, email))
  const final = new Set(stored.map((one) => one.listId))
  const undone = rows.filter((row) => {
    const [proof] = row.consent ?? []
    if (final.has(row.listId) || proof?.method !== 'OPERATOR' || !isUndoable(row)) return false
    return isCurrent(row, proof) && new Date(proof.at) > since && (at === undefined || at === proof.at)
  })
  for (const row of undone) await restore(ctx, row)
  return undone.length
}

/** Whether the opt-out of the proof has ended the subscription, and nothing later. */
const isCurrent = ({ unsubscribedAt }: Row, { at }: { at: string }) => unsubscribedAt?.toISOString() === at

/** A complaint meanwhile is the person's own word. */
const isUndoable = (row: Row) => hasOptedOut(row) && row.status !== 'COMPLAINED'

async function restore(ctx: Ctx, row: Row): Promise<void> {
  const [proof, ...rest] = row.consent ?? []
  const previous = proof?.previous
  if (!previous) {
    await ctx.db.delete(subscriptions).where(bySubscription(ctx, row))
    return
  }
  const [restored] = await ctx.db
    .update(subscriptions)
    .set({
      status: previous.status,
      isRemoved: previous.isRemoved,
      replacedStatus: previous.replacedStatus,
      unsubscribedAt: previous.unsubscribedAt === null ? null : new Date(previous.unsubscribedAt),
      consent: rest.length > 0 ? rest : null,
    })
    .where(bySubscription(ctx, row))
    .returning(subscriptionColumns)
  if (!restored) return
  const events = { PENDING: [subscriptionCreated], CONFIRMED: [subscriptionConfirmed] }
  await recordSubscriptionChange(ctx, restored, events[restored.status as keyof typeof events] ?? [])
}

/**
 * Makes an operator's opt-out of a locked contact from a list, or from each list, final, because the person has said the
 * same.
 */
export async function makeFinal(
  ctx: Ctx,
  { contactId, listId }: { contactId: ContactId; listId?: ListId },
): Promise<void> {
  for (const row of await readSubscriptions(ctx, contactId, listId)) {
    const [proof] = row.consent ?? []
    if (row.status !== 'UNSUBSCRIBED' || proof?.method !== 'OPERATOR' || !isCurrent(row, proof)) continue
    await ctx.db.update(subscriptions).set({ unsubscribedAt: new Date() }).where(bySubscription(ctx, row))
  }
}

function createProof(ctx: Ctx, { contact, note, at }: OptOut, before: Row | undefined): OptOutProof {
  return {
    method: 'OPERATOR',
    at: at.toISOString(),
    email: contact.email,
    address: null,
    formId: null,
    wording: [],
    importId: null,
    actorId: getActorId(ctx.actor),
    doubleOptIn: false,
    confirmedAt: null,
    confirmedFrom: null,
    note,
    previous: before
      ? {
          status: before.status,
          isRemoved: before.isRemoved,
          replacedStatus: before.replacedStatus,
          unsubscribedAt: before.unsubscribedAt?.toISOString() ?? null,
        }
      : null,
  }
}

/** Nothing is replaced: an undo removes the proof again. */
const withProof = (proof: OptOutProof): SQL =>
  sql`${JSON.stringify([proof])}::jsonb || coalesce(${subscriptions.consent}, '[]')`
