/**
 * Templates, and the emails that are sent from them to one person each.
 *
 * | email       | from                 | when                                                                         |
 * |-------------|----------------------|------------------------------------------------------------------------------|
 * | PENDING     |                      | accepted, with a row of `work`; claimed or not                               |
 * |             | PENDING              | refused for now: it waits for the next of at most five repetitions           |
 * | SENT        | PENDING, INTERRUPTED | accepted by the mail server                                                  |
 * | FAILED      | PENDING, INTERRUPTED | refused, not rendered, or a day old while its template is PAUSED             |
 * | SKIPPED     | PENDING, INTERRUPTED | the address of the contact is suppressed by now                              |
 * | INTERRUPTED | PENDING              | may have been sent: ambiguous response, crash, restored backup               |
 */
import { sql } from 'drizzle-orm'
import { index, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt, id, oneOf, timestamptz } from './columns.ts'
import { contacts } from './contacts.ts'
import { bounceClasses } from './mail.ts'
import { tenantTable } from './tenant-table.ts'

export const templateStatuses = ['ACTIVE', 'PAUSED'] as const
export const grounds = ['REQUEST', 'CONTRACT', 'SECURITY', 'LEGAL'] as const
export const variableTypes = ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'URL', 'LIST'] as const

type VariableValue = string | number | boolean | null
/** A value that a template declares, and that every email from it brings along. */
export interface StoredVariable {
  name: string
  type: (typeof variableTypes)[number]
  required: boolean
  example: VariableValue | (VariableValue | Record<string, VariableValue>)[]
}

export const templates = tenantTable(
  'templates',
  {
    id: id('tpl').notNull(),
    name: text().notNull(),
    version: integer().notNull(),
    status: text({ enum: templateStatuses }).notNull().default('ACTIVE'),
    /** Why the system paused the template; null if a user did. */
    pauseReason: text(),
    /** When a user activated it again: what was reported of earlier emails does not pause it once more. */
    activatedAt: timestamptz(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('templates_created_index').on(t.workspaceId, t.createdAt, t.id),
      oneOf('templates_status_check', t.status, templateStatuses),
    ],
  },
)

/** What a template says. An email is sent with the version that accepted it; those that no email waits for are deleted. */
export const templateVersions = tenantTable(
  'template_versions',
  {
    templateId: id('tpl').notNull(),
    version: integer().notNull(),
    subject: text().notNull(),
    html: text(),
    text: text(),
    variables: jsonb().$type<StoredVariable[]>().notNull(),
    ground: text({ enum: grounds }).notNull(),
    fromName: text(),
    fromEmail: text(),
    replyTo: text(),
  },
  {
    key: ['templateId', 'version'],
    ownedBy: { templateId: templates },
    extra: (t) => [oneOf('template_versions_ground_check', t.ground, grounds)],
  },
)

export const emailStatuses = ['PENDING', 'SENT', 'FAILED', 'INTERRUPTED', 'SKIPPED'] as const

/** Rows outlive their contact, without it, and their template. */
export const emails = tenantTable(
  'emails',
  {
    id: id('mai').notNull(),
    templateId: id('tpl').notNull(),
    templateVersion: integer().notNull(),
    ground: text({ enum: grounds }).notNull(),
    /** Null after its erasure. */
    contactId: id('con'),
    status: text({ enum: emailStatuses }).notNull().default('PENDING'),
    /** The values for the template, sealed. Null once the email has ended. */
    sealedData: text(),
    reason: text(),
    tags: text().array().notNull().default([]),
    /** The attempts that have ended. */
    attempts: integer().notNull().default(0),
    /** The token of the last attempt: see `work/claims.ts`. */
    token: uuid(),
    /** A hash of the id that the mail server gave the email. See `hashProviderMessageId`. */
    providerMessageHash: uuid(),
    bounceClass: text({ enum: bounceClasses }),
    bounceCode: text(),
    bouncedAt: timestamptz(),
    complainedAt: timestamptz(),
    createdAt: createdAt(),
    endedAt: timestamptz(),
  },
  {
    key: ['id'],
    references: { contactId: contacts },
    extra: (t) => [
      index('emails_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('emails_contact_index').on(t.workspaceId, t.contactId, t.createdAt, t.id),
      index('emails_template_index').on(t.workspaceId, t.templateId, t.createdAt, t.id),
      index('emails_status_index').on(t.workspaceId, t.status, t.createdAt, t.id),
      index('emails_tags_index').using('gin', t.workspaceId, t.tags),
      index('emails_pending_index').on(t.workspaceId, t.templateId).where(sql`${t.status} = 'PENDING'`),
      index('emails_ended_index').on(t.endedAt).where(sql`${t.endedAt} is not null`),
      // Reports of mail providers do not name the workspace.
      index('emails_provider_message_index').on(t.providerMessageHash).where(sql`${t.providerMessageHash} is not null`),
      oneOf('emails_ground_check', t.ground, grounds),
      oneOf('emails_status_check', t.status, emailStatuses),
      oneOf('emails_bounce_class_check', t.bounceClass, bounceClasses),
    ],
  },
)
