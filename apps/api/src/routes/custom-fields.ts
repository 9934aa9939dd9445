import { deleteCustomField } from '@rapport/core/operations/webhooks/delete-custom-field.ts'
import {
  lockCustomField,
  updateCustomField,
  createCustomField,
  listCustomFields,
  readCustomField,
} from '@rapport/core/custom-fields/custom-fields.ts'
import {
  CustomField,
  CustomFieldChange,
  CustomFieldInput,
  CustomFieldQuery,
} from '@rapport/core/custom-fields/custom-fields.schema.ts'
import type { CustomFieldId } from '@rapport/core/kernel/ids.ts'
import { lockQuotas } from '@rapport/core/quotas/require-quota.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { type CurrentRecord, ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Contacts'], security: [{ bearer: [] }] }
const params = IdParams('cfd')
const currentField = recordById(CustomField, { lock: lockCustomField, read: readCustomField })
/** The quotas before the field, as the creation of a webhook locks both. */
const changedField: CurrentRecord<{ ctx: Ctx; body: CustomFieldChange; params: { id: CustomFieldId } }> = {
  schema: CustomField,
  async lockAndRead({ ctx, body, params: { id } }) {
    if (body.options) await lockQuotas(ctx)
    return currentField.lockAndRead({ ctx, params: { id } })
  },
}

export const customFieldRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/custom-fields',
    {
      schema: {
        ...common,
        operationId: 'customFields.create',
        summary: 'Create a custom field',
        description:
          'Values of contacts or deals are validated against the type and the options of the field. Returns 409 if `key` is already in use for the `object`.',
        body: CustomFieldInput,
        response: { 201: CustomField },
      },
    },
    idempotent(async (request, reply) => {
      const field = await createCustomField(request.ctx, request.body)
      reply.code(201).header('location', `/custom-fields/${field.id}`)
      return field
    }),
  )

  app.get(
    '/custom-fields',
    {
      schema: {
        ...common,
        operationId: 'customFields.list',
        summary: 'List custom fields',
        description: 'Returns the custom fields of the workspace.',
        querystring: CustomFieldQuery,
        response: { 200: PageOf(CustomField) },
      },
    },
    (request) => listCustomFields(request.ctx, request.query),
  )

  app.get(
    '/custom-fields/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'customFields.get',
        summary: 'Retrieve a custom field',
        description: 'Returns the definition of the custom field.',
        params,
        response: { 200: CustomField },
      },
    },
    (request) => readCustomField(request.ctx, request.params.id),
  )

  app.patch(
    '/custom-fields/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'customFields.update',
        summary: 'Update a custom field',
        description: 'Updates `label` and `options`. `object`, `key` and `type` cannot be changed.',
        params,
        body: CustomFieldChange,
        response: { 200: CustomField },
      },
    },
    ifMatch(changedField, (request) => updateCustomField(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/custom-fields/:id',
    {
      schema: {
        ...common,
        operationId: 'customFields.delete',
        summary: 'Delete a custom field',
        description:
          'The field is deleted immediately; its values are removed from all contacts or deals in the background. Until they are removed, creating a field with the same `object` and `key` returns 409. Webhooks whose filter names the field are disabled.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentField, async (request, reply) => {
      await deleteCustomField(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
