import { sql } from 'drizzle-orm'
import { boolean, index, integer, json, jsonb, text, unique } from 'drizzle-orm/pg-core'
import { createdAt, id, timestamptz } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { contacts } from './contacts.ts'
import { lists } from './lists.ts'

export const formFieldTypes = [
  'TEXT',
  'TEXTAREA',
  'EMAIL',
  'PHONE',
  'NUMBER',
  'DATE',
  'SELECT',
  'CHECKBOX',
  'CONSENT',
] as const

export interface FormField {
  id: string
  label: string
  type: (typeof formFieldTypes)[number]
  required: boolean
  options?: string[]
  mapsTo?: string
  /** What a field of type CONSENT asks for. Default: the subscription to the list of the form. */
  purpose?: 'TRACKING'
}

export const forms = tenantTable(
  'forms',
  {
    id: id('frm').notNull(),
    name: text().notNull(),
    /** `json`, not `jsonb`, keeps the order of the keys. */
    fields: json().$type<FormField[]>().notNull(),
    /** ON DELETE SET NULL (list_id): the migration names the column, which Drizzle cannot express. */
    listId: id('lst'),
    tags: text().array().notNull().default([]),
    successMessage: text().notNull(),
    redirectUrl: text(),
    enabled: boolean().notNull().default(true),
    /** The language of the form. */
    locale: text(),
    /** Submissions that filled the honeypot. */
    spamCount: integer().notNull().default(0),
    /** Soft delete: the worker deletes the submissions in small batches, then the row. */
    deletedAt: timestamptz(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    references: { listId: lists },
    extra: (t) => [
      // The public routes look up a form by its id alone.
      index('forms_id_index').on(t.id),
      index('forms_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('forms_deleted_index').on(t.deletedAt).where(sql`${t.deletedAt} is not null`),
      index('forms_list_index').on(t.workspaceId, t.listId).where(sql`${t.listId} is not null`),
    ],
  },
)

export const formSubmissions = tenantTable(
  'form_submissions',
  {
    id: id('sub').notNull(),
    formId: id('frm').notNull(),
    /** The contact that the submission maps to. The submission is deleted with the contact. */
    contactId: id('con'),
    values: json().$type<Record<string, string | number | boolean>>().notNull(),
    /** The consents, with the wording that the visitor saw. */
    consents: jsonb().$type<{ fieldId: string; wording: string }[]>().notNull(),
    /** A hash of the sender's key and the values, which detects a repeated submission. */
    repetitionHash: text(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    ownedBy: { formId: forms, contactId: contacts },
    extra: (t) => [
      unique('form_submissions_repetition_key').on(t.workspaceId, t.formId, t.repetitionHash),
      index('form_submissions_created_index').on(t.workspaceId, t.formId, t.createdAt, t.id),
      index('form_submissions_contact_index').on(t.workspaceId, t.contactId).where(sql`${t.contactId} is not null`),
    ],
  },
)
