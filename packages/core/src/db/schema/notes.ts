import { sql } from 'drizzle-orm'
import { check, index, text } from 'drizzle-orm/pg-core'
import { companies } from './companies.ts'
import { createdAt, id, oneOf, timestamptz } from './columns.ts'
import { contacts } from './contacts.ts'
import { deals } from './deals.ts'
import { tenantTable } from './tenant-table.ts'

export const noteKinds = ['NOTE', 'CALL', 'MEETING'] as const

/** The records that a note is about never change, but a merge of contacts, and a deletion of the company or deal. */
export const notes = tenantTable(
  'notes',
  {
    id: id('nte').notNull(),
    kind: text({ enum: noteKinds }).notNull(),
    body: text().notNull(),
    occurredAt: timestamptz().notNull(),
    contactId: id('con'),
    companyId: id('cpy'),
    dealId: id('dea'),
    // No foreign keys: notes outlive the members and the API keys that wrote them.
    authorId: id('usr'),
    apiKeyId: id('key'),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    references: { contactId: contacts, companyId: companies, dealId: deals },
    extra: (t) => [
      index('notes_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('notes_occurred_index').on(t.workspaceId, t.occurredAt, t.id),
      index('notes_kind_index').on(t.workspaceId, t.kind, t.createdAt, t.id),
      index('notes_contact_index')
        .on(t.workspaceId, t.contactId, t.createdAt, t.id)
        .where(sql`${t.contactId} is not null`),
      index('notes_company_index')
        .on(t.workspaceId, t.companyId, t.createdAt, t.id)
        .where(sql`${t.companyId} is not null`),
      index('notes_deal_index').on(t.workspaceId, t.dealId, t.createdAt, t.id).where(sql`${t.dealId} is not null`),
      index('notes_author_index')
        .on(t.workspaceId, t.authorId, t.createdAt, t.id)
        .where(sql`${t.authorId} is not null`),
      oneOf('notes_kind_check', t.kind, noteKinds),
      check('notes_record_check', sql`num_nonnulls(${t.contactId}, ${t.companyId}, ${t.dealId}) > 0`),
    ],
  },
)
