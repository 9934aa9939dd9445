import { index, text, unique, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const customFieldObjects = ['CONTACT', 'COMPANY', 'DEAL'] as const
export type CustomFieldObject = (typeof customFieldObjects)[number]

export const customFieldTypes = ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'SELECT'] as const

/** The custom fields that a workspace defines for its contacts, companies and deals. */
export const customFields = tenantTable(
  'custom_fields',
  {
    id: id('cfd').notNull(),
    object: text({ enum: customFieldObjects }).notNull().default('CONTACT'),
    key: text().notNull(),
    label: text().notNull(),
    type: text({ enum: customFieldTypes }).notNull(),
    /** The options of a SELECT field; empty for other types. */
    options: text().array().notNull().default([]),
    /** Soft delete: the worker clears the values of the object, then deletes the row. */
    removedAt: timestamptz(),
    /** The last record whose value is cleared: the next job goes on behind it. */
    clearedTo: uuid(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      unique('custom_fields_key_key').on(t.workspaceId, t.object, t.key),
      index('custom_fields_created_index').on(t.workspaceId, t.createdAt, t.id),
      oneOf('custom_fields_object_check', t.object, customFieldObjects),
      oneOf('custom_fields_type_check', t.type, customFieldTypes),
    ],
  },
)
