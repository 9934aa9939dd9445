import {
  updateCustomField,
  createCustomField,
  deleteCustomField,
  listCustomFields,
} from '@rapport/core/contacts/custom-fields/custom-fields.ts'
import {
  CustomField,
  CustomFieldChange,
  CustomFieldInput,
  CustomFieldQuery,
} from '@rapport/core/contacts/custom-fields/custom-fields.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { Empty, IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Contacts'], security: [{ bearer: [] }] }
const params = IdParams('cfd')

export const customFieldRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/custom-fields',
    {
      schema: {
        ...common,
        summary: 'Define a custom field',
        description: 'Values of contacts are checked against it. A key that is taken is a 409.',
        querystring: NoQuery,
        body: CustomFieldInput,
        response: { 201: CustomField },
      },
    },
    async (request, reply) => {
      const field = await createCustomField(request.ctx, request.body)
      reply.code(201).header('location', `/custom-fields/${field.id}`)
      return field
    },
  )

  app.get(
    '/custom-fields',
    {
      schema: {
        ...common,
        summary: 'List custom fields',
        querystring: CustomFieldQuery,
        response: { 200: PageOf(CustomField) },
      },
    },
    (request) => listCustomFields(request.ctx, request.query),
  )

  app.patch(
    '/custom-fields/:id',
    {
      schema: {
        ...common,
        summary: 'Change a custom field',
        description: 'Its label or options; key and type stay.',
        params,
        querystring: NoQuery,
        body: CustomFieldChange,
        response: { 200: CustomField },
      },
    },
    (request) => updateCustomField(request.ctx, request.params.id, request.body),
  )

  app.delete(
    '/custom-fields/:id',
    {
      schema: {
        ...common,
        summary: 'Remove a custom field',
        description: 'At once; its values go from every contact soon after. Until then its key is taken: a 409.',
        params,
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteCustomField(request.ctx, request.params.id)
      return reply.code(204).send(null)
    },
  )
}
