import { sql } from 'drizzle-orm'
import { check, index, jsonb, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import type { FormId, ImportId, SuppressionId } from '../../kernel/ids.ts'
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
  /** Whether the file of an import claims `address`, unless it is null, and `confirmedAt`, unless it equals `at`. */
  claimed?: boolean
  /** What the contact said, by OPERATOR. */
  note?: string | null
  /** Of a request that waits for its link: the moment in the link. Undefined if an older version stored it. */
  issuedAt?: string
  /** By OPERATOR: the statement that it proves. An undo removes both. */
  suppressionId?: SuppressionId
}

/** The strictest first. */
export const suppressionReasons = ['COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL'] as const
export const suppressionSources = ['MAIL_EVENT', 'LINK', 'API', 'IMPORT'] as const

/**
 * Suppressions of addresses. A row is one statement, and outlives every contact. COMPLAINED and OPTED_OUT
 * are the person's own word, also through an operator (source API) or a file; BOUNCED is a mail server's, MANUAL the
 * operator's block. Only OPTED_OUT can be of one list.
 */
export const suppressions = tenantTable(
  'suppressions',
  {
    id: id('sup').notNull(),
    /** A keyed hash: see `consent/hash-email.ts`. */
    emailHash: text().notNull(),
    /** Null: every list, also those to come. */
    listId: id('lst'),
    reason: text({ enum: suppressionReasons }).notNull(),
    source: text({ enum: suppressionSources }).notNull(),
    /** The user or API key that recorded it. */
    actorId: text(),
    note: text(),
    createdAt: createdAt(),
    /** The first time it was said. A file may report an earlier one. */
    firstSaidAt: timestamptz().notNull(),
    /** The last time. A confirmation link from before is refused. */
    saidAt: timestamptz().notNull(),
    /** Null if it cannot be undone: it holds for two addresses, or came from a file or a mail server. */
    undoableUntil: timestamptz(),
    /** The contact that last had the address, as far as known. No foreign key: the row outlives the contact. */
    contactId: id('con'),
  },
  {
    key: ['id'],
    ownedBy: { listId: lists },
    extra: (t) => [
      unique('suppressions_statement_key')
        .on(t.workspaceId, t.emailHash, t.listId, t.reason, t.source)
        .nullsNotDistinct(),
      // A bounce and a block are one row each, from whatever source.
      uniqueIndex('suppressions_address_key')
        .on(t.workspaceId, t.emailHash, t.reason)
        .where(sql`${t.reason} in ('BOUNCED', 'MANUAL')`),
      index('suppressions_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('suppressions_reason_index').on(t.workspaceId, t.reason, t.createdAt, t.id),
      index('suppressions_list_index').on(t.workspaceId, t.listId, t.createdAt, t.id),
      index('suppressions_contact_index').on(t.workspaceId, t.contactId).where(sql`${t.contactId} is not null`),
      oneOf('suppressions_reason_check', t.reason, suppressionReasons),
      oneOf('suppressions_source_check', t.source, suppressionSources),
      check('suppressions_list_check', sql`${t.listId} is null or ${t.reason} = 'OPTED_OUT'`),
    ],
  },
)

/** What a contact and a list agreed. REMOVED: the operator took the contact off, or it never was on the list. */
const ownStatuses = ['PENDING', 'CONFIRMED', 'REMOVED'] as const

/**
 * A contact and a list. `status` is derived from the own status and the suppressions of the contact's address, by
 * `consent/derive-status.ts`. It is the first that applies:
 *
 * | there is                                                              | status       |
 * | --------------------------------------------------------------------- | ------------ |
 * | a row COMPLAINED                                                      | COMPLAINED   |
 * | a row OPTED_OUT for this list or for all, or the own status REMOVED   | UNSUBSCRIBED |
 * | a row BOUNCED                                                         | BOUNCED      |
 * | a row MANUAL                                                          | UNSUBSCRIBED |
 * | none                                                                  | own status   |
 *
 * Only CONFIRMED is mailed: see `isMailable` there. An ended status never opens by itself: see `deriveStatus`.
 */
export const subscriptions = tenantTable(
  'subscriptions',
  {
    listId: id('lst').notNull(),
    contactId: id('con').notNull(),
    status: text({ enum: subscriptionStatuses }).notNull(),
    ownStatus: text({ enum: ownStatuses }).notNull(),
    /** A confirmation link from before it became PENDING or REMOVED is refused. */
    ownStatusAt: timestamptz().notNull(),
    source: text(),
    confirmedAt: timestamptz(),
    /** The proof of each consent, newest first; null if there is none: see `consent/proofs.ts`. */
    consent: jsonb().$type<Consent[]>(),
    /** The moment of what ended it, not moved by a repetition; null while it is open or BOUNCED. */
    unsubscribedAt: timestamptz(),
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
      oneOf('subscriptions_own_status_check', t.ownStatus, ownStatuses),
      check(
        'subscriptions_open_check',
        sql`${t.status} in ('UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED') or ${t.status} = ${t.ownStatus}`,
      ),
    ],
  },
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
 * `consent/tracking`.
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
