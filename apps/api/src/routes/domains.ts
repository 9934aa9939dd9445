import { Domain, DomainInput, DomainChange, DomainQuery } from '@rapport/core/domains/domains.schema.ts'
import {
  deleteDomain,
  listDomains,
  lockDomain,
  prepareDomain,
  prepareRotation,
  readDomain,
  storeDomain,
  updateDomain,
  useNextKey,
} from '@rapport/core/domains/domains.ts'
import { checkDomain, recordCheck } from '@rapport/core/domains/verify-domain.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { commitOnce, idempotentAfter } from '../http/handlers/idempotency.ts'
import { Empty, EmptyBody, IdParams } from './shapes.ts'

const common = { tags: ['Domains'], security: [{ bearer: [] }] }
const params = IdParams('dom')
const currentDomain = recordById(Domain, { lock: lockDomain, read: readDomain })

export const domainRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/domains',
    {
      config: { role: 'ADMIN', etag: Domain },
      schema: {
        ...common,
        operationId: 'domains.create',
        summary: 'Add a sending domain',
        description:
          'Returns the DNS records to publish. Once the first DKIM record is found, the domain is VERIFIED: the workspace may send from it, and its emails are signed. Other workspaces may have the same domain: each has records of its own. A workspace has at most 20 domains.',
        body: DomainInput,
        response: { 201: Domain },
      },
    },
    idempotentAfter(async (request, reply) => {
      const prepared = await prepareDomain(request.ctx, request.body)
      return commitOnce(request, reply, async () => {
        const domain = await storeDomain(request.ctx, prepared)
        reply.code(201).header('location', `/domains/${domain.id}`)
        return domain
      })
    }),
  )

  app.get(
    '/domains',
    {
      schema: {
        ...common,
        operationId: 'domains.list',
        summary: 'List sending domains',
        description: 'Returns the sending domains of the workspace, with their records as of the last check.',
        querystring: DomainQuery,
        response: { 200: PageOf(Domain) },
      },
    },
    (request) => listDomains(request.ctx, request.query),
  )

  app.get(
    '/domains/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'domains.get',
        summary: 'Retrieve a sending domain',
        description: 'Returns the domain, with its records as of the last check.',
        params,
        response: { 200: Domain },
      },
    },
    (request) => readDomain(request.ctx, request.params.id),
  )

  app.patch(
    '/domains/:id',
    {
      config: { role: 'ADMIN' },
      schema: {
        ...common,
        operationId: 'domains.update',
        summary: 'Update a sending domain',
        description:
          'Changes the host of the public pages. Once the domain and the HOST record are VERIFIED, the links in new emails are under the host; those of former emails go on where they are. Returns 409 if another workspace has the host, or if this one has 20 hosts, with those of former links.',
        params,
        body: DomainChange,
        response: { 200: Domain },
      },
    },
    ifMatch(currentDomain, (request) => updateDomain(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/domains/:id',
    {
      config: { role: 'ADMIN' },
      schema: {
        ...common,
        operationId: 'domains.delete',
        summary: 'Delete a sending domain',
        description:
          'Deletes the domain and its keys. Remove the DKIM records seven days later: receivers still verify emails that are on their way.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentDomain, async (request, reply) => {
      await deleteDomain(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.post(
    '/domains/:id/verify',
    {
      config: { role: 'ADMIN' },
      schema: {
        ...common,
        operationId: 'domains.verify',
        summary: 'Check the records of a sending domain',
        description:
          'Reads the records from DNS now, and returns the domain with the results. Emits `domain.verified` or `domain.failed` if the status changes. If no name server answers, the results before still hold.',
        params,
        body: EmptyBody,
        response: { 200: Domain },
      },
    },
    idempotentAfter(async (request, reply) => {
      const check = await checkDomain(request.ctx, request.params.id)
      return commitOnce(request, reply, () => recordCheck(request.ctx, check))
    }),
  )

  app.post(
    '/domains/:id/rotate-key',
    {
      config: { role: 'ADMIN' },
      schema: {
        ...common,
        operationId: 'domains.rotateKey',
        summary: 'Rotate the key of a sending domain',
        description:
          'Signs with the next key from now on, and returns the domain with the record of a new next key to publish. Keep the record of the former key for seven days, while it is listed. Returns 409 if the last check did not find the record of the next key, or within seven days of a rotation.',
        params,
        body: EmptyBody,
        response: { 200: Domain },
      },
    },
    idempotentAfter(async (request, reply) => {
      const following = await prepareRotation(request.ctx, request.params.id)
      return commitOnce(request, reply, () => useNextKey(request.ctx, request.params.id, following))
    }),
  )
}
