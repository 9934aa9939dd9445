/** What contacts chose about tracking. Every change is made with the contact locked. */
import { and, eq } from 'drizzle-orm'
import { contacts, type TrackingProof, trackingConsents } from '../../db/schema/index.ts'
import { isAnyOf } from '../../db/statements/is-any-of.ts'
import { emit } from '../../events/emit.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { clientAddressOf, type Ctx, getActorId } from '../../request/context.ts'
import type { AddressedContact } from '../consent-records.ts'
import { deny, endGrants, merge, noTrackingState, type TrackingState } from './change-tracking.ts'
import { type TrackingConsent, trackingConsentChanged } from './tracking-consent.schema.ts'
import { copyTrackingDenials, findTrackingDenials, storeTrackingDenials } from './tracking-denials.ts'
import { type TrackedAction, type TrackingChoices, unknownChoices } from './tracking-level.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

/** Returns the choices of contacts, with what their addresses denied before. */
export async function findTrackingChoices(
  ctx: Ctx,
  addressed: readonly AddressedContact[],
): Promise<Map<ContactId, TrackingChoices>> {
  if (addressed.length === 0) return new Map()
  const { contactId, opens, clicks } = trackingConsents
  const ids = addressed.map(({ id }) => id)
  const rows = await ctx.db
    .select({ contactId, opens, clicks })
    .from(trackingConsents)
    .where(and(eq(trackingConsents.workspaceId, ctx.workspaceId), isAnyOf(contactId, ids)))
  const stored = new Map(rows.map((row) => [row.contactId, row]))
  const denials = await findTrackingDenials(
    ctx,
    addressed.map(({ email }) => email),
  )
  return new Map(addressed.map(({ id, email }) => [id, toChoices(stored.get(id), denials.get(email))]))
}

/** The choices of one contact. */
export async function readTrackingChoices(ctx: Ctx, contact: AddressedContact): Promise<TrackingChoices> {
  return (await findTrackingChoices(ctx, [contact])).get(contact.id) ?? unknownChoices
}

function toChoices(
  stored: Pick<TrackingState, TrackedAction> | undefined,
  denied: readonly TrackedAction[] = [],
): TrackingChoices {
  const choiceOf = (action: TrackedAction) =>
    denied.includes(action) ? ('DENIED' as const) : (stored?.[action] ?? ('UNKNOWN' as const))
  return { opens: choiceOf('opens'), clicks: choiceOf('clicks') }
}

type Row = typeof trackingConsents.$inferSelect

export async function findTrackingState(ctx: Ctx, contactId: ContactId): Promise<Row | undefined> {
  const [row] = await ctx.db.select().from(trackingConsents).where(isOfContact(ctx, contactId))
  return row
}

export async function toTrackingConsent(
  ctx: Ctx,
  contact: AddressedContact,
  row: Pick<Row, TrackedAction | 'updatedAt'> | undefined,
): Promise<TrackingConsent> {
  const denials = await findTrackingDenials(ctx, [contact.email])
  return {
    contactId: contact.id,
    ...toChoices(row, denials.get(contact.email)),
    updatedAt: row?.updatedAt ?? null,
  }
}

/**
 * Changes what a locked contact chose. Emits `tracking_consent.changed` if a choice changed, and writes nothing if
 * nothing did. Returns whether a choice changed.
 */
export function changeTracking(
  ctx: Ctx,
  contact: AddressedContact,
  change: TrackingChange['change'],
): Promise<boolean> {
  return applyChange(ctx, contact, { change, emitsEvents: true })
}

interface TrackingChange {
  change: (current: TrackingState) => TrackingState
  emitsEvents: boolean
}

async function applyChange(
  ctx: Ctx,
  contact: AddressedContact,
  { change, emitsEvents }: TrackingChange,
): Promise<boolean> {
  const row = await findTrackingState(ctx, contact.id)
  const current = row ?? noTrackingState
  const next = change(current)
  if (next === current) return false
  const { opens, clicks, opensDeniedAt, clicksDeniedAt, proofs } = next
  const isChanged = opens !== current.opens || clicks !== current.clicks
  const now = timestampNow()
  const updatedAt = isChanged ? now : (row?.updatedAt ?? now)
  const saved = { opens, clicks, opensDeniedAt, clicksDeniedAt, proofs, updatedAt }
  const { workspaceId } = ctx
  await ctx.db
    .insert(trackingConsents)
    .values({ workspaceId, contactId: contact.id, ...saved, createdAt: now })
    .onConflictDoUpdate({ target: [trackingConsents.workspaceId, trackingConsents.contactId], set: saved })
  if (isChanged && emitsEvents) await emit(ctx, trackingConsentChanged, await toTrackingConsent(ctx, contact, saved))
  return isChanged
}

/** What is known about a choice when it is made. */
export type ChoiceSource = Pick<TrackingProof, 'method'> &
  Record<TrackedAction, boolean> &
  Partial<Pick<TrackingProof, 'formId' | 'wording' | 'note'>>

/** A new proof. The IP address is that of the contact, so there is none if a user or API key reports the choice. */
export function createProof(
  ctx: Ctx,
  choice: TrackingProof['choice'],
  { email, source }: { email: string; source: ChoiceSource },
): TrackingProof {
  const isByContact = ctx.actor.kind === 'public'
  return {
    choice,
    opens: source.opens,
    clicks: source.clicks,
    method: source.method,
    at: timestampNow(),
    email,
    address: isByContact ? clientAddressOf(ctx) : null,
    formId: source.formId ?? null,
    wording: source.wording ?? [],
    actorId: getActorId(ctx.actor),
    note: source.note ?? null,
    confirmedAt: null,
    confirmedFrom: null,
  }
}

/** Denies tracking for a locked contact, at once. Returns whether it had not been denied. */
export function denyByContact(ctx: Ctx, contact: AddressedContact, source: ChoiceSource): Promise<boolean> {
  const proof = createProof(ctx, 'DENIED', { email: contact.email, source })
  return changeTracking(ctx, contact, (current) => deny(current, proof))
}

/**
 * Applies changes of address of locked contacts, in their order, to what was chosen about tracking: what either address denied
 * holds for both. Two statements find the few contacts that chose anything.
 */
export async function moveTrackingChoices(ctx: Ctx, moves: readonly Move[], emitsEvents: boolean): Promise<void> {
  const { contactId } = trackingConsents
  const ids = moves.map(({ id }) => id)
  const isOfMoves = and(eq(trackingConsents.workspaceId, ctx.workspaceId), isAnyOf(contactId, ids))
  const rows = await ctx.db.select({ contactId }).from(trackingConsents).where(isOfMoves)
  const chosen = new Set(rows.map((row) => row.contactId))
  const denials = await findTrackingDenials(
    ctx,
    moves.flatMap(({ from, to }) => [from, to]),
  )
  const denied = new Set([...denials.keys()].map(emailKey))
  for (const { id, from, to } of moves) {
    const emails = [from, to].map(emailKey)
    if (!chosen.has(id) && !emails.some((email) => denied.has(email))) continue
    // A later move can meet what this one copies.
    for (const email of emails) denied.add(email)
    await storeTrackingDenials(ctx, { id, email: from })
    await copyTrackingDenials(ctx, { from, to })
    await changeTrackedAddress(ctx, { id, email: to }, emitsEvents)
  }
}

interface Move {
  id: ContactId
  from: string
  to: string
}

/**
 * Adjusts the choice of a locked contact that got another address: grants were confirmed for the former one, and what the
 * new address denied applies.
 */
async function changeTrackedAddress(ctx: Ctx, contact: AddressedContact, emitsEvents: boolean): Promise<void> {
  const source = { method: 'ADDRESS_CHANGED', opens: true, clicks: true } as const
  const proof = createProof(ctx, 'UNKNOWN', { email: contact.email, source })
  await applyChange(ctx, contact, { change: (current) => endGrants(current, proof), emitsEvents })
  await applyTrackingDenials(ctx, contact, emitsEvents)
}

/** Denies for a locked contact what its address has denied. */
export async function applyTrackingDenials(ctx: Ctx, contact: AddressedContact, emitsEvents = true): Promise<void> {
  const denied = (await findTrackingDenials(ctx, [contact.email])).get(contact.email) ?? []
  const row = await findTrackingState(ctx, contact.id)
  const added = denied.filter((action) => row?.[action] !== 'DENIED')
  if (added.length === 0) return
  const scope = { opens: added.includes('opens'), clicks: added.includes('clicks') }
  const proof = createProof(ctx, 'DENIED', {
    email: contact.email,
    source: { method: 'ADDRESS_CHANGED', ...scope },
  })
  await applyChange(ctx, contact, { change: (current) => deny(current, proof), emitsEvents })
}

/** Merges the choice of one locked contact into that of another: a denial wins, and nothing is granted. */
export async function moveTrackingConsent(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  const merged = await findTrackingState(ctx, from)
  if (!merged) return
  const [remaining] = await ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, to)))
  if (remaining) await changeTracking(ctx, remaining, (current) => merge(current, merged))
  await deleteTrackingConsent(ctx, from)
}

/** Deletes what a locked contact chose. Store its denials first, with `storeTrackingDenials`. */
export async function deleteTrackingConsent(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db.delete(trackingConsents).where(isOfContact(ctx, contactId))
}

const isOfContact = (ctx: Ctx, contactId: ContactId) =>
  and(eq(trackingConsents.workspaceId, ctx.workspaceId), eq(trackingConsents.contactId, contactId))
