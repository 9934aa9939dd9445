import type { emails } from '../db/schema/index.ts'
import type { EmailRecord } from './emails.schema.ts'

export type EmailRow = typeof emails.$inferSelect

/** The email as responses and events show it. */
export function toEmail(row: EmailRow): EmailRecord {
  return {
    id: row.id,
    contactId: row.contactId,
    templateId: row.templateId,
    templateVersion: row.templateVersion,
    ground: row.ground,
    status: row.status,
    reason: row.reason,
    bounceClass: row.bounceClass,
    bounceCode: row.bounceCode,
    bouncedAt: row.bouncedAt,
    complainedAt: row.complainedAt,
    tags: row.tags,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
  }
}
