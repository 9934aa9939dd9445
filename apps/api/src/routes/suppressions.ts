import { requireRole } from '@rapport/core/auth/authenticate.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { liftSuppression, lockWithContact } from '@rapport/core/suppressions/lift-suppression.ts'
import { createSuppression, listSuppressions, readSuppression } from '@rapport/core/suppressions/suppressions.ts'
import {
  Suppression,
  SuppressionInput,
  SuppressionLift,
  SuppressionQuery,
} from '@rapport/core/suppressions/suppressions.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Suppressions'], security: [{ bearer: [] }] }
const params = IdParams('sup')
const currentSuppression = recordById(Suppression, { lock: lockWithContact, read: readSuppression })

export const suppressionRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/suppressions',
    {
      schema: {
        ...common,
        operationId: 'suppressions.create',
        summary: 'Suppress an address',
        description:
          'The workspace sends nothing to the address from now on, on the list or on any, whichever contact has it. Its subscriptions end at once, with `subscription.unsubscribed` for each. Returns 200 if the same was said before: then `saidAt` is renewed. The audit log records it each time.',
        body: SuppressionInput,
        response: { 200: Suppression, 201: Suppression },
      },
    },
    idempotent(async (request, reply) => {
      const { suppression, isNew } = await createSuppression(request.ctx, request.body)
      reply.code(isNew ? 201 : 200).header('location', `/suppressions/${suppression.id}`)
      return suppression
    }),
  )

  app.get(
    '/suppressions',
    {
      config: { errorStatuses: [403] },
      schema: {
        ...common,
        operationId: 'suppressions.list',
        summary: 'List suppressions',
        description:
          'Returns the suppressions for all lists; `listId` returns others. They contain no addresses: only keyed hashes are stored. `email` finds those of an address, needs the role MEMBER, and is recorded in the audit log.',
        querystring: SuppressionQuery,
        response: { 200: PageOf(Suppression) },
      },
    },
    (request) => {
      if (request.query.email !== undefined) requireRole(request.ctx.actor, 'MEMBER')
      return listSuppressions(request.ctx, request.query)
    },
  )

  app.get(
    '/suppressions/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'suppressions.get',
        summary: 'Retrieve a suppression',
        description: 'Returns one statement against email to an address.',
        params,
        response: { 200: Suppression },
      },
    },
    (request) => readSuppression(request.ctx, request.params.id),
  )

  app.delete(
    '/suppressions/:id',
    {
      config: { role: 'ADMIN', errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'suppressions.delete',
        summary: 'Lift a suppression',
        description:
          'Lifts a bounce or a block of the address, from whatever source. Subscriptions that only this ended are again what they were. What the person said (OPTED_OUT, COMPLAINED) is theirs to revert: the response is 409 with the code `opted_out`. The audit log records the note.',
        params,
        body: SuppressionLift,
        response: { 204: Empty },
      },
    },
    ifMatch(currentSuppression, async (request, reply) => {
      await liftSuppression(request.ctx, request.params.id, request.body)
      reply.code(204)
      return null
    }),
  )
}
