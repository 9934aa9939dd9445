import {
  createMailHook,
  deleteMailHook,
  listMailHooks,
  lockMailHook,
  readMailHook,
} from '@rapport/core/mail-hooks/mail-hooks.ts'
import { MailHook, MailHookInput, MailHookQuery } from '@rapport/core/mail-hooks/mail-hooks.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Mail hooks'], security: [{ bearer: [] }] }
const params = IdParams('mhk')
const config = { role: 'ADMIN' } as const
const currentHook = recordById(MailHook, { lock: lockMailHook, read: readMailHook })

const createDescription =
  'Enter `url` at the provider. Its bounces and complaints then count for this workspace alone, so create a hook ' +
  'here only if the account of the provider sends for no other workspace. The operator creates the hooks of an ' +
  'account that sends for several, with `rapport mail-hook create`. A workspace has at most 20 mail hooks.'

export const mailHookRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/mail-hooks',
    {
      config: { ...config, etag: MailHook },
      schema: {
        ...common,
        operationId: 'mailHooks.create',
        summary: 'Create a mail hook',
        description: createDescription,
        body: MailHookInput,
        response: { 201: MailHook },
      },
    },
    idempotent(async (request, reply) => {
      const hook = await createMailHook(request.ctx, request.body)
      reply.code(201).header('location', `/mail-hooks/${hook.id}`)
      return hook
    }),
  )

  app.get(
    '/mail-hooks',
    {
      config,
      schema: {
        ...common,
        operationId: 'mailHooks.list',
        summary: 'List mail hooks',
        description: 'Returns the mail hooks of the workspace, without their secrets.',
        querystring: MailHookQuery,
        response: { 200: PageOf(MailHook) },
      },
    },
    (request) => listMailHooks(request.ctx, request.query),
  )

  app.get(
    '/mail-hooks/:id',
    {
      config: { ...config, etag: true },
      schema: {
        ...common,
        operationId: 'mailHooks.get',
        summary: 'Retrieve a mail hook',
        description: 'Returns the mail hook without its secret.',
        params,
        response: { 200: MailHook },
      },
    },
    (request) => readMailHook(request.ctx, request.params.id),
  )

  app.delete(
    '/mail-hooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'mailHooks.delete',
        summary: 'Delete a mail hook',
        description: 'Messages to its URL are refused from now on.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentHook, async (request, reply) => {
      await deleteMailHook(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
