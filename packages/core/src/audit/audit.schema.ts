import { z } from 'zod'
import { type EventType, eventTypes } from '../events/event-definition.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, SingleLine } from '../kernel/validation.ts'
import { PageQuery, Sort } from '../request/paging.ts'

/** A deletion that emits an event is recorded under the same name. */
type Deletion = Extract<EventType, `${string}.deleted`>
const deletions = eventTypes.filter((type): type is Deletion => type.endsWith('.deleted'))

/** Logins, and actions that grant or revoke access, reach many recipients or cannot be undone. */
const auditActions = [
  'invite.created',
  'invite.resent',
  'invite.deleted',
  'invite.accepted',
  'member.changed',
  'member.removed',
  'session.created',
  'session.deleted',
  'login.failed',
  'login.locked_out',
  'password_reset.requested',
  'password_reset.completed',
  'api_key.created',
  'api_key.changed',
  'api_key.deleted',
  'workspace.created',
  'workspace.changed',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.secret_rotated',
  'domain.created',
  'domain.key_rotated',
  'domain.host_changed',
  'domain.deleted',
  'mail_hook.created',
  'mail_hook.deleted',
  'campaign.sent',
  'campaign.retried',
  'campaign.deleted',
  'template.created',
  'template.updated',
  'template.paused',
  'template.deleted',
  'workspace.quotas_changed',
  'workspace.senders_changed',
  'workspace.suspended',
  'workspace.resumed',
  'contacts.exported',
  'contacts.imported',
  'contact.exported',
  'contact.opted_out',
  'contact.opt_out_undone',
  'contact.tracking_denied',
  'suppression.created',
  'suppression.lifted',
  'suppressions.searched',
  'suppressions.imported',
  'contact.merged',
  'custom_field.deleted',
  'segment.deleted',
  'form.deleted',
  'submission.deleted',
  'pipeline.deleted',
  ...deletions,
] as const
export type AuditAction = (typeof auditActions)[number]

export const AuditEntry = z
  .object({
    id: RecordId('aud'),
    action: z.string().describe('What was done, such as `member.changed`.'),
    actor: z
      .object({
        kind: z
          .enum(['user', 'apiKey', 'public', 'system'])
          .describe('`public` is a visitor without a credential, `system` the server itself.'),
        id: z.string().nullable().describe('The id of the user or API key. `null` for visitors and the system.'),
      })
      .describe('Who did it.'),
    subjectId: z.string().nullable().describe('The id of the affected record. `null` if there is none.'),
    details: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('More about the action, such as the new role.'),
    address: z
      .string()
      .nullable()
      .describe('The IP address of the client. `null` for the system, and for a person who asks for their own data.'),
    requestId: z.string().describe('The id of the request, as in `x-request-id`.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'AuditEntry',
    description: 'A login, or an action that grants or revokes access, reaches many recipients or cannot be undone.',
    examples: [
      {
        id: 'aud_01kag7m3v9e8fs2t4w6x8y0z1b',
        action: 'member.changed',
        actor: { kind: 'user', id: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b' },
        subjectId: 'usr_01kag7m3v9e8fs2t4w6x8y0z2c',
        details: { role: 'ADMIN' },
        address: '203.0.113.7',
        requestId: '0190e1a0-7b6c-7c43-9d13-9f6cbd2f4f5a',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type AuditEntry = z.output<typeof AuditEntry>

export const AuditQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  action: z.enum(auditActions).optional().describe('Only entries with this action.'),
  actorId: SingleLine(40, 1).optional().describe('Only entries of the user or API key with this id.'),
})
export type AuditQuery = z.output<typeof AuditQuery>
