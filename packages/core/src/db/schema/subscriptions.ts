import { boolean, index, jsonb, text } from 'drizzle-orm/pg-core'
import type { FormId, ImportId } from '../../kernel/ids.ts'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { contacts } from './contacts.ts'
import { lists } from './lists.ts'

export const subscriptionStatuses = ['PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const

export const consentMethods = [
  'FORM',
  'PUBLIC_SUBSCRIBE',
  'PREFERENCES_PAGE',
  'API',
  'IMPORT',
  'CONFIRMATION_LINK',
  'UNDO_UNSUBSCRIBE',
  'OPERATOR',
  'ADDRESS_CHANGED',
] as const

/** How and when a contact consented to a subscription. Ids as the API shows them: the records may be deleted later. */
export interface Consent {
  method: (typeof consentMethods)[number]
  /** When the consent was given, or was reported by an import or the API, ISO 8601. */
  at: string
  /** The email address that the consent covers: the contact may have another one later. */
  email: string
  /** The IP address of the contact; null if the consent was reported for it. */
  address: string | null
  formId: FormId | null
  /** The text of each consent field of the form that the contact accepted. */
  wording: string[]
  importId: ImportId | null
  /** The user or API key that reported the consent. */
  actorId: string | null
  /** Whether the contact has to confirm by a link in an email. */
  doubleOptIn: boolean
  /** When the subscription was confirmed by this consent; null while the link was not used. */
  confirmedAt: string | null
  /** The IP address from which the link was used. */
  confirmedFrom: string | null
  /** The former address of the contact as a keyed hash, by ADDRESS_CHANGED. */
  formerEmailHash?: string
  /** Whether the moment and the address of the contact are those that the file of an import claims. */
  claimed?: boolean
  /** What the contact said, by OPERATOR. */
  note?: string | null
  /** By OPERATOR: the subscription before the opt-out, for an undo; null if there was none. */
  previous?: PreviousSubscription | null
}

export interface PreviousSubscription {
  status: (typeof subscriptionStatuses)[number]
  isRemoved: boolean
  replacedStatus: (typeof subscriptionStatuses)[number] | null
  unsubscribedAt: string | null
}

/** An opt-out that a user or API key reported. It is kept with the proofs of consent. */
export type OptOutProof = Consent & { method: 'OPERATOR' }

export const subscriptions = tenantTable(
  'subscriptions',
  {
    listId: id('lst').notNull(),
    contactId: id('con').notNull(),
    status: text({ enum: subscriptionStatuses }).notNull(),
    source: text(),
    confirmedAt: timestamptz(),
    /** The proof of each consent, newest first; null if there is none: see `consent.ts`. */
    consent: jsonb().$type<Consent[]>(),
    unsubscribedAt: timestamptz(),
    /** Whether an UNSUBSCRIBED contact was removed by the operator and has not opted out itself. */
    isRemoved: boolean().notNull().default(false),
    /** The status that a bounce or a block of the address replaced. It returns when the bounce or block is lifted. */
    replacedStatus: text({ enum: subscriptionStatuses }),
    createdAt: createdAt(),
  },
  {
    key: ['listId', 'contactId'],
    ownedBy: { listId: lists, contactId: contacts },
    extra: (t) => [
      index('subscriptions_contact_index').on(t.workspaceId, t.contactId),
      index('subscriptions_created_index').on(t.workspaceId, t.listId, t.createdAt, t.contactId),
      index('subscriptions_status_index').on(t.workspaceId, t.listId, t.status, t.createdAt, t.contactId),
      oneOf('subscriptions_status_check', t.status, subscriptionStatuses),
    ],
  },
)

/** Opt-outs of addresses from a list, as keyed hashes. They outlive their contact: see `opt-outs.ts`. */
export const optOuts = tenantTable(
  'opt_outs',
  {
    listId: id('lst').notNull(),
    emailHash: text().notNull(),
    status: text({ enum: ['UNSUBSCRIBED', 'COMPLAINED'] }).notNull(),
    createdAt: createdAt(),
  },
  { key: ['listId', 'emailHash'], ownedBy: { listId: lists } },
)

export const trackingChoices = ['GRANTED', 'DENIED'] as const

export const trackingMethods = ['FORM', 'PREFERENCES_PAGE', 'OPERATOR', 'ADDRESS_CHANGED'] as const
/** A contact chooses about these apart. */
export const trackedActions = ['opens', 'clicks'] as const

/** How a contact chose whether opens and clicks are tracked. Ids as the API shows them. */
export interface TrackingProof {
  choice: (typeof trackingChoices)[number] | 'UNKNOWN'
  /** What the choice is about. */
  opens: boolean
  clicks: boolean
  method: (typeof trackingMethods)[number]
  /** When the contact chose, or a user or API key reported it, ISO 8601. */
  at: string
  /** The email address of the contact at that time. */
  email: string
  /** The IP address of the contact; null if the choice was reported for it. */
  address: string | null
  formId: FormId | null
  /** The texts that the contact saw. */
  wording: string[]
  /** The user or API key that reported the choice. */
  actorId: string | null
  note: string | null
  /** When the contact used the link in the email that a grant needs; null before, and for a denial. */
  confirmedAt: string | null
  /** The IP address from which the link was used. */
  confirmedFrom: string | null
}

/**
 * What a contact chose about tracking, opens and clicks apart. Null, or without a row: it has not said anything. See
 * `subscriptions/tracking`.
 */
export const trackingConsents = tenantTable(
  'tracking_consents',
  {
    contactId: id('con').notNull(),
    opens: text({ enum: trackingChoices }),
    clicks: text({ enum: trackingChoices }),
    /** The last denial, also after a later grant: what the contact did before it with an email may be unseen. */
    opensDeniedAt: timestamptz(),
    clicksDeniedAt: timestamptz(),
    /** Newest first. At most one is a grant without confirmation. */
    proofs: jsonb().$type<TrackingProof[]>().notNull().default([]),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['contactId'],
    ownedBy: { contactId: contacts },
    extra: (t) => [
      oneOf('tracking_consents_opens_check', t.opens, trackingChoices),
      oneOf('tracking_consents_clicks_check', t.clicks, trackingChoices),
    ],
  },
)

/** Denials of addresses, as keyed hashes. They outlive their contact, as opt-outs do. */
export const trackingDenials = tenantTable(
  'tracking_denials',
  {
    emailHash: text().notNull(),
    action: text({ enum: trackedActions }).notNull(),
    createdAt: createdAt(),
  },
  {
    key: ['emailHash', 'action'],
    extra: (t) => [oneOf('tracking_denials_action_check', t.action, trackedActions)],
  },
)
