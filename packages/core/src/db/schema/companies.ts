import { sql } from 'drizzle-orm'
import { index, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

/** The organizations that contacts and deals belong to. */
export const companies = tenantTable(
  'companies',
  {
    id: id('cpy').notNull(),
    name: text().notNull(),
    /** In ASCII and lower case. */
    domain: text(),
    /** The key of the company in the caller's own product. */
    externalId: text(),
    /** No foreign key: see `named-members.ts`. */
    ownerId: id('usr'),
    phone: text(),
    website: text(),
    customFieldValues: jsonb().$type<Record<string, string | number | boolean>>().notNull().default({}),
    tags: text().array().notNull().default([]),
    /** The text that `search` matches, as of contacts. */
    searchText: text()
      .notNull()
      .generatedAlwaysAs(
        sql`fold_text(name || ' ' || coalesce(domain, '') || ' ' || coalesce(phone, '') || ' ' || coalesce(website, ''))`,
      ),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      // Partial: a change of a key that foreign keys could use would lock out the records of the company.
      uniqueIndex('companies_domain_key').on(t.workspaceId, t.domain).where(sql`${t.domain} is not null`),
      uniqueIndex('companies_external_id_key').on(t.workspaceId, t.externalId).where(sql`${t.externalId} is not null`),
      index('companies_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('companies_updated_index').on(t.workspaceId, t.updatedAt, t.id),
      index('companies_owner_index')
        .on(t.workspaceId, t.ownerId, t.createdAt, t.id)
        .where(sql`${t.ownerId} is not null`),
      index('companies_search_index').using('gin', t.workspaceId, t.searchText.op('gin_trgm_ops')),
      index('companies_tags_index').using('gin', t.workspaceId, t.tags),
      index('companies_custom_fields_index').using('gin', t.workspaceId, t.customFieldValues.op('jsonb_path_ops')),
    ],
  },
)
