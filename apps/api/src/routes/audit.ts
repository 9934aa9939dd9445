import { AuditEntry, AuditQuery } from '@rapport/core/audit/audit.schema.ts'
import { listAuditEntries } from '@rapport/core/audit/audit.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'

export const auditRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/audit-log',
    {
      config: { role: 'ADMIN' },
      schema: {
        tags: ['Team'],
        security: [{ bearer: [] }],
        operationId: 'auditLog.list',
        summary: 'List audit log entries',
        description: [
          'Returns logins, changes to the team, API keys and webhooks, campaign sends, exports and deletions, newest first. Entries cannot be changed or deleted.',
          'A login is `session.created`, and its end `session.deleted`. A wrong password is `login.failed`, or `login.locked_out` if further attempts must wait because of it; attempts during the wait are not recorded. These and `password_reset.requested` and `password_reset.completed` are recorded in each workspace of the user; `subjectId` is the user.',
        ].join('\n\n'),
        querystring: AuditQuery,
        response: { 200: PageOf(AuditEntry) },
      },
    },
    (request) => listAuditEntries(request.ctx, request.query),
  )
}
