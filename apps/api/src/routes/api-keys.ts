import { lockApiKey, createApiKey, deleteApiKey, listApiKeys, readApiKey } from '@rapport/core/auth/api-keys.ts'
import { ApiKey, ApiKeyInput, ApiKeyQuery, CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['API keys'], security: [{ bearer: [] }] }
const params = IdParams('key')
const config = { role: 'ADMIN' } as const
const currentKey = recordById(ApiKey, { lock: lockApiKey, read: readApiKey })

export const apiKeyRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/api-keys',
    {
      config,
      schema: {
        ...common,
        operationId: 'apiKeys.create',
        summary: 'Create an API key',
        description: 'The role of the key is at most your own. `key` is returned in this response only.',
        body: ApiKeyInput,
        response: { 201: CreatedApiKey },
      },
    },
    idempotent(async (request, reply) => {
      const created = await createApiKey(request.ctx, request.body)
      reply.code(201).header('location', `/api-keys/${created.id}`)
      return created
    }),
  )

  app.get(
    '/api-keys',
    {
      config,
      schema: {
        ...common,
        operationId: 'apiKeys.list',
        summary: 'List API keys',
        description: 'Returns the API keys of the workspace, without the keys themselves.',
        querystring: ApiKeyQuery,
        response: { 200: PageOf(ApiKey) },
      },
    },
    (request) => listApiKeys(request.ctx, request.query),
  )

  app.get(
    '/api-keys/:id',
    {
      config: { ...config, etag: true },
      schema: {
        ...common,
        operationId: 'apiKeys.get',
        summary: 'Retrieve an API key',
        description: 'Returns the name, the role and the prefix of the key, but not the key itself.',
        params,
        response: { 200: ApiKey },
      },
    },
    (request) => readApiKey(request.ctx, request.params.id),
  )

  app.delete(
    '/api-keys/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'apiKeys.delete',
        summary: 'Revoke an API key',
        description: 'Takes effect immediately: the next request with the key returns 401.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentKey, async (request, reply) => {
      await deleteApiKey(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
