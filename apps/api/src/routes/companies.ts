import {
  Company,
  CompanyChange,
  CompanyInput,
  CompanyQuery,
  NewCompany,
} from '@rapport/core/companies/companies.schema.ts'
import { CompanyBatch, CompanyBatchResults } from '@rapport/core/companies/company-batch.schema.ts'
import { createCompany } from '@rapport/core/companies/create-company.ts'
import { lockCompany, readCompany } from '@rapport/core/companies/find-company.ts'
import { listCompanies, listCompanyActivity } from '@rapport/core/companies/list-companies.ts'
import { updateCompany } from '@rapport/core/companies/update-company.ts'
import { lockMatchingCompany, upsertCompany } from '@rapport/core/companies/write-companies.ts'
import { writeCompanyBatch } from '@rapport/core/companies/write-company-batch.ts'
import { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { CompanyContactQuery } from '@rapport/core/contacts/listing/contact-query.schema.ts'
import { listContactsOfCompany } from '@rapport/core/contacts/listing/list-contacts.ts'
import { Activity, ActivityQuery } from '@rapport/core/events/activity.ts'
import { deleteCompany } from '@rapport/core/operations/contacts/delete-company.ts'
import type { CompanyId } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { lockMembers } from '@rapport/core/workspaces/named-members.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { type CurrentRecord, ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Companies'], security: [{ bearer: [] }] }
const params = IdParams('cpy')
const currentCompany = recordById(Company, { lock: lockCompany, read: readCompany })
/** The owner before the company, as the removal of a member locks them. */
const changedCompany: CurrentRecord<{ ctx: Ctx; body: CompanyChange; params: { id: CompanyId } }> = {
  schema: Company,
  async lockAndRead({ ctx, body, params: { id } }) {
    await lockMembers(ctx, [body.ownerId])
    return currentCompany.lockAndRead({ ctx, params: { id } })
  },
}
const companyByKey: CurrentRecord<{ ctx: Ctx; body: CompanyInput }> = {
  schema: Company,
  lockAndRead: ({ ctx, body }) => lockMatchingCompany(ctx, body),
}

const batchDescription =
  'Each company succeeds or fails by itself, and the results are in the order of the companies. Companies with the ' +
  'same domain or external id take effect one after the other. Emits `company.created` or `company.updated` for ' +
  'each company that changed; a no-op update is `UNCHANGED` and emits no event. The companies that succeed are ' +
  'written in one transaction. A body has at most 1 MiB and 10,000 values.'

export const companyRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/companies',
    {
      schema: {
        ...common,
        operationId: 'companies.create',
        summary: 'Create a company',
        description:
          'Emits `company.created`. Returns 409 with `companyId` if the workspace already has a company with this domain or external id; `issues` names the field.',
        body: NewCompany,
        response: { 201: Company },
      },
    },
    idempotent(async (request, reply) => {
      const company = await createCompany(request.ctx, request.body)
      reply.code(201).header('location', `/companies/${company.id}`)
      return company
    }),
  )

  app.put(
    '/companies',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'companies.upsert',
        summary: 'Create or update a company by external id or domain',
        description: [
          'Looks for the company by `externalId`, then by `domain`; the header `matched-by` says which one found it. Needs one of the two. Sets the fields in the body and leaves the others unchanged. Safe to call concurrently.',
          'A company that is found by `externalId` gets another `domain` if no company has it. A company without an external id that is found by `domain` gets `externalId`. Returns 409 `identity_conflict` with `companyIds` if the keys belong to different companies, or if the domain belongs to a company with another external id.',
        ].join('\n\n'),
        body: CompanyInput,
        response: { 200: Company, 201: Company },
      },
    },
    ifMatch(companyByKey, async (request, reply) => {
      const { company, isNew, matchedBy } = await upsertCompany(request.ctx, request.body)
      reply.header('matched-by', matchedBy)
      if (isNew) reply.code(201).header('location', `/companies/${company.id}`)
      return company
    }),
  )

  app.post(
    '/companies/batch',
    {
      schema: {
        ...common,
        operationId: 'companies.batch',
        summary: 'Create or update up to 100 companies',
        description: batchDescription,
        body: CompanyBatch,
        response: { 200: CompanyBatchResults },
      },
    },
    idempotent((request) => writeCompanyBatch(request.ctx, request.body)),
  )

  app.get(
    '/companies',
    {
      schema: {
        ...common,
        operationId: 'companies.list',
        summary: 'List companies',
        description:
          'Returns the companies that match all filters. `customField.<key>=<value>` filters by a custom field.',
        querystring: CompanyQuery,
        response: { 200: PageOf(Company) },
      },
    },
    (request) => listCompanies(request.ctx, request.query),
  )

  app.get(
    '/companies/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'companies.get',
        summary: 'Retrieve a company',
        description: 'Returns the company with its tags and custom field values.',
        params,
        response: { 200: Company },
      },
    },
    (request) => readCompany(request.ctx, request.params.id),
  )

  app.patch(
    '/companies/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'companies.update',
        summary: 'Update a company',
        description:
          'Merges `customFieldValues` (`null` removes a key) and replaces `tags`. The `company` text of its contacts does not change. Emits `company.updated`; a no-op update emits no event.',
        params,
        body: CompanyChange,
        response: { 200: Company },
      },
    },
    ifMatch(changedCompany, (request) => updateCompany(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/companies/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'companies.delete',
        summary: 'Delete a company',
        description:
          'Returns 409 `in_use` with `dealCount` while deals name the company. Its contacts remain: within a minute, their `companyId` is `null`. Emits `company.deleted`, but no events of the contacts.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentCompany, async (request, reply) => {
      await deleteCompany(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/companies/:id/contacts',
    {
      schema: {
        ...common,
        operationId: 'companies.listContacts',
        summary: 'List the contacts of a company',
        description: 'Returns the contacts whose `companyId` is the company, newest first.',
        params,
        querystring: CompanyContactQuery,
        response: { 200: PageOf(Contact) },
      },
    },
    (request) => listContactsOfCompany(request.ctx, request.params.id, request.query),
  )

  app.get(
    '/companies/:id/activity',
    {
      schema: {
        ...common,
        operationId: 'companies.listActivity',
        summary: 'List the activity of a company',
        description:
          'Returns the events of the company, of its deals and of its notes, newest first. The events of its contacts are in the activity of each contact.',
        params,
        querystring: ActivityQuery,
        response: { 200: PageOf(Activity) },
      },
    },
    (request) => listCompanyActivity(request.ctx, request.params.id, request.query),
  )
}
