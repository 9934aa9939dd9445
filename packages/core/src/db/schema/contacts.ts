import { sql } from 'drizzle-orm'
import { index, jsonb, text, uniqueIndex, type AnyPgColumn } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, lower, oneOf, id, timeAtLeast } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'

export const emailSubscribedStatuses = [
  'NONE',
  'PENDING',
  'SUBSCRIBED',
  'UNSUBSCRIBED',
  'BOUNCED',
  'COMPLAINED',
] as const

/** The sort key of `lastActivityAt`: contacts without activity come first. */
export const activityOrder = (lastActivityAt: AnyPgColumn) => sql`coalesce(${lastActivityAt}, '-infinity'::timestamptz)`

export const contacts = tenantTable(
  'contacts',
  {
    id: id('con').notNull(),
    email: text().notNull(),
    /** The key of the person in the caller's own product. */
    externalId: text(),
    firstName: text().notNull().default(''),
    lastName: text().notNull().default(''),
    phone: text(),
    company: text(),
    /**
     * No foreign key: the company of 100,000 contacts is deleted at once, and the worker clears this column. A statement
     * that sets it locks the company.
     */
    companyId: id('cpy'),
    customFieldValues: jsonb().$type<Record<string, string | number | boolean>>().notNull().default({}),
    tags: text().array().notNull().default([]),
    /** Derived from the contact's subscriptions, only by `subscribed-status.ts`. */
    emailSubscribedStatus: text({ enum: emailSubscribedStatuses }).notNull().default('NONE'),
    lastActivityAt: timestamptz(),
    source: text(),
    /** The language of mails to the contact, as a language tag in its canonical form. */
    locale: text(),
    /**
     * The text that `search` matches, without case and accents. Stored, because folding is most of the cost of a
     * search.
     */
    searchText: text()
      .notNull()
      .generatedAlwaysAs(
        sql`fold_text(first_name || ' ' || last_name || ' ' || email || ' ' || coalesce(company, '') || ' ' || coalesce(phone, ''))`,
      ),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      uniqueIndex('contacts_email_key').on(t.workspaceId, lower(t.email)),
      // Partial: a change of a key that foreign keys could use would lock out the records of the contact.
      uniqueIndex('contacts_external_id_key').on(t.workspaceId, t.externalId).where(sql`${t.externalId} is not null`),
      index('contacts_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('contacts_updated_index').on(t.workspaceId, t.updatedAt, t.id),
      index('contacts_status_index').on(t.workspaceId, t.emailSubscribedStatus, t.createdAt, t.id),
      index('contacts_source_index').on(t.workspaceId, t.source, t.createdAt, t.id).where(sql`${t.source} is not null`),
      index('contacts_company_index')
        .on(t.workspaceId, t.companyId, t.createdAt, t.id)
        .where(sql`${t.companyId} is not null`),
      index('contacts_activity_index').on(t.workspaceId, activityOrder(t.lastActivityAt), t.id),
      index('contacts_search_index').using('gin', t.workspaceId, t.searchText.op('gin_trgm_ops')),
      index('contacts_tags_index').using('gin', t.workspaceId, t.tags),
      index('contacts_custom_fields_index').using('gin', t.workspaceId, t.customFieldValues.op('jsonb_path_ops')),
      oneOf('contacts_status_check', t.emailSubscribedStatus, emailSubscribedStatuses),
    ],
  },
)

/** Moves a contact's timestamps forward to the time of an activity. */
export const activityAt = (at: Timestamp) => ({
  lastActivityAt: timeAtLeast(contacts.lastActivityAt, at),
  updatedAt: timeAtLeast(contacts.updatedAt, at),
})

/** The ids of merged contacts: links in emails to these contacts keep working. */
export const contactAliases = tenantTable(
  'contact_aliases',
  {
    id: id('con').notNull(),
    contactId: id('con').notNull(),
  },
  {
    key: ['id'],
    ownedBy: { contactId: contacts },
    extra: (t) => [index('contact_aliases_contact_index').on(t.workspaceId, t.contactId)],
  },
)

/** The external ids of merged contacts, which find the remaining contact. No contact can get one of them. */
export const externalIdAliases = tenantTable(
  'external_id_aliases',
  {
    externalId: text().notNull(),
    contactId: id('con').notNull(),
  },
  {
    key: ['externalId'],
    ownedBy: { contactId: contacts },
    extra: (t) => [index('external_id_aliases_contact_index').on(t.workspaceId, t.contactId)],
  },
)

/**
 * Deleted contacts whose events, deliveries and errors as a recipient are still to be redacted. The worker deletes the
 * row when it has finished.
 */
export const erasures = tenantTable(
  'erasures',
  {
    contactId: id('con').notNull(),
    /** The contacts that were merged into it. */
    mergedIds: id('con').array().notNull().default([]),
    /** The name of the step; null: the first one. */
    step: text(),
    /** The position in the step. */
    after: text().notNull().default(''),
    createdAt: createdAt(),
  },
  { key: ['contactId'] },
)
