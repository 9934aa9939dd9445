import { createContact, listContacts, readContact } from '@rapport/core/contacts/contacts.ts'
import { Contact, ContactInput, ContactQuery } from '@rapport/core/contacts/contacts.schema.ts'
import { PageOf } from '@rapport/core/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { IdParams, NoQuery } from './shapes.ts'

const common = { tags: ['Contacts'], security: [{ bearer: [] }] }

export const contactRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/contacts',
    {
      schema: {
        ...common,
        summary: 'Create a contact',
        description: 'Tells `contact.created`. An address the workspace has already is a 409 with its `contactId`.',
        querystring: NoQuery,
        body: ContactInput,
        response: { 201: Contact },
      },
    },
    async (request, reply) => {
      const contact = await createContact(request.ctx, request.body)
      reply.code(201).header('location', `/contacts/${contact.id}`)
      return contact
    },
  )

  app.get(
    '/contacts',
    { schema: { ...common, summary: 'List contacts', querystring: ContactQuery, response: { 200: PageOf(Contact) } } },
    (request) => listContacts(request.ctx, request.query),
  )

  app.get(
    '/contacts/:id',
    {
      schema: {
        ...common,
        summary: 'Read a contact',
        params: IdParams('con'),
        querystring: NoQuery,
        response: { 200: Contact },
      },
    },
    (request) => readContact(request.ctx, request.params.id),
  )
}
