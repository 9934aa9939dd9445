import { and, eq, isNull } from 'drizzle-orm'
import { findContactLocale } from '../../mail/find-contact-locale.ts'
import { findCurrentContact } from '../../contacts/contact-aliases.ts'
import { lists, subscriptions, trackedActions, workspaces } from '../../db/schema/index.ts'
import type { ListId } from '../../kernel/ids.ts'
import type { Locales } from '../../kernel/values/languages.ts'
import { type BaseCtx, type Ctx, publicContext } from '../../request/context.ts'
import { type AddressedContact, readSuppressions } from '../../consent/consent-records.ts'
import { openPreferences } from '../../consent/preferences-links.ts'
import { readTrackingChoices } from '../../consent/tracking/tracking-consents.ts'
import {
  decideTrackingLevel,
  type TrackedAction,
  type TrackingChoice,
  type TrackingLevel,
} from '../../consent/tracking/tracking-level.ts'
import { hasLeft } from '../../consent/derive-status.ts'
import { canConfirm, coversList, isByPerson } from '../../consent/suppression-rows.ts'
import { type Branding, brandingColumns } from '../../workspaces/branding.ts'
import { toHolder } from './lock-holder.ts'
import { maskEmail } from './mask-email.ts'

/** A list as its subscribers see it. `LEFT`: they unsubscribed from it. */
export interface ListPreference {
  id: ListId
  name: string
  description: string
  status: 'PENDING' | 'CONFIRMED' | 'LEFT'
}

/** What a person chose about the recording of opens or clicks, and what follows for a campaign that records them. */
export interface TrackingPreference {
  action: TrackedAction
  choice: TrackingChoice
  level: TrackingLevel
}

/** What the page of a link shows of the contact that has the address of the link. */
export interface OwnPreferences {
  maskedEmail: string
  lists: ListPreference[]
  tracking: TrackingPreference[]
  /** Whether the address can be asked to confirm: not after a bounce or a block. */
  canReturn: boolean
}

export interface Preferences {
  sender: string
  locales: Locales
  branding: Branding
  /** Whether the address of the link gets no email of any list. */
  hasOptedOut: boolean
  /** `FORMER`: the contact has another address now. `ERASED`: it was deleted. Such a link may only opt out. */
  holder: OwnPreferences | 'FORMER' | 'ERASED'
}

/**
 * Returns what the preferences page of a link shows; undefined if the workspace was deleted. Changes nothing. Throws
 * `invalid_token`.
 */
export async function readPreferences(base: BaseCtx, token: string): Promise<Preferences | undefined> {
  const link = openPreferences(base, token)
  const { workspaceId } = link
  const ctx = publicContext(base, workspaceId)
  const [workspace] = await ctx.db
    .select({
      fromName: workspaces.fromName,
      branding: brandingColumns,
      withoutConsent: workspaces.trackingWithoutConsent,
      locale: workspaces.locale,
    })
    .from(workspaces)
    .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)))
  if (!workspace) return undefined
  const { fromName, branding, withoutConsent, locale } = workspace
  const shared = { sender: fromName ?? branding.name, branding, locales: { workspace: locale } }
  const { contact, isCurrent } = toHolder(link, await findCurrentContact(ctx, link.contactId))
  if (!contact || !isCurrent) {
    const hasOptedOut = (await readSuppressions(ctx, { email: link.email })).some(isByPerson)
    return { ...shared, hasOptedOut, holder: contact ? 'FORMER' : 'ERASED' }
  }
  const reasons = await readSuppressions(ctx, { email: contact.email })
  const choices = await readTrackingChoices(ctx, contact)
  const locales = { contact: await findContactLocale(ctx, { workspaceId, contactId: contact.id }), workspace: locale }
  const own = {
    maskedEmail: maskEmail(contact.email),
    lists: await readLists(ctx, contact),
    tracking: trackedActions.map((action) => ({
      action,
      choice: choices[action],
      level: decideTrackingLevel({ isTracked: true, withoutConsent, choice: choices[action] }),
    })),
    canReturn: canConfirm(reasons),
  }
  return { ...shared, locales, hasOptedOut: reasons.some(isByPerson), holder: own }
}

/** The lists of a contact. One that the operator took the contact off is not shown. */
async function readLists(ctx: Ctx, contact: AddressedContact): Promise<ListPreference[]> {
  const found = await readSuppressions(ctx, { email: contact.email, listId: 'any' })
  const rows = await ctx.db
    .select({ id: lists.id, name: lists.name, description: lists.description, state: subscriptions })
    .from(subscriptions)
    .innerJoin(lists, and(eq(lists.workspaceId, subscriptions.workspaceId), eq(lists.id, subscriptions.listId)))
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.contactId, contact.id),
        isNull(lists.deletedAt),
      ),
    )
    .orderBy(lists.name, lists.id)
  return rows.flatMap(({ id, name, description, state }) => {
    // What was agreed returns when a bounce or a block is lifted, so the person can leave meanwhile.
    const status = hasLeft(state, found.filter(coversList(id))) ? 'LEFT' : state.ownStatus
    return status === 'REMOVED' ? [] : [{ id, name, description, status }]
  })
}
