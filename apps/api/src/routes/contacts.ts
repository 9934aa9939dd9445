import { lockContact } from '@rapport/core/contacts/lock-contact.ts'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { listActivity } from '@rapport/core/contacts/list-activity.ts'
import { exportContacts } from '@rapport/core/contacts/export/export-contacts.ts'
import { listContacts } from '@rapport/core/contacts/listing/list-contacts.ts'
import { exportPerson } from '@rapport/core/operations/contacts/export-person.ts'
import { PersonExport } from '@rapport/core/operations/contacts/person-export.schema.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { addTags, updateContact, removeTag } from '@rapport/core/contacts/update-contact.ts'
import { lockMatchingContact, upsertContact } from '@rapport/core/contacts/upsert-contact.ts'
import {
  Contact,
  ContactChange,
  ContactInput,
  MergeInput,
  NewContact,
  TagsInput,
} from '@rapport/core/contacts/contacts.schema.ts'
import { Activity, ActivityQuery } from '@rapport/core/events/activity.ts'
import { ContactQuery, CountedContactPage, ExportQuery } from '@rapport/core/contacts/listing/contact-query.schema.ts'
import { SingleLine } from '@rapport/core/kernel/validation.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readContact } from '@rapport/core/contacts/read-contact.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type CurrentRecord, ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import type { ApiTimings } from '../http/server/api-timings.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Contacts'], security: [{ bearer: [] }] }
const params = IdParams('con')
const tagParams = params.extend({
  tag: SingleLine(100, 1).meta({ description: 'The tag to remove.', examples: ['vip'] }),
})
const currentContact = recordById(Contact, { lock: lockContact, read: readContact })
const contactByKey: CurrentRecord<{ ctx: Ctx; body: ContactInput }> = {
  schema: Contact,
  lockAndRead: ({ ctx, body }) => lockMatchingContact(ctx, body),
}

const deleteDescription =
  'Deletes the contact with its `OPEN` deals without a company, tasks, submissions, subscriptions and emails. Its ' +
  'other deals remain without their name, with `contactErasedAt`. Emits `contact.deleted` with the id, ' +
  '`deal.deleted` or `task.deleted` for each deal and task that is deleted, and `deal.updated` with `changes: null` ' +
  'for each deal that remains, but no events of the subscriptions. Within a minute, the `data` of its events ' +
  'becomes `{ id, redacted: true }`, and the responses to these events and its errors as a recipient are removed. ' +
  'What quotes an address elsewhere expires by retention, 37 days by default. An opt-out is kept as a keyed hash, ' +
  'so that an import cannot undo it.'

const exportPersonDescription =
  'Returns everything that is kept about a person as one JSON file, for the right of access: the contact, ' +
  'subscriptions with their proofs of consent, submissions, deals, tasks, emails and activity. The audit log ' +
  'records it as `contact.exported`. The response is streamed: if the contact is deleted meanwhile, it is cut off.'

export const contactRoutes: FastifyPluginAsyncZod<Pick<ApiTimings, 'exportIdleMs'>> = async (app, { exportIdleMs }) => {
  app.post(
    '/contacts',
    {
      schema: {
        ...common,
        operationId: 'contacts.create',
        summary: 'Create a contact',
        description:
          'Emits `contact.created`. Returns 409 with `contactId` if the workspace already has a contact with this email address or external id; for the external id, `issues` names the field.',
        body: NewContact,
        response: { 201: Contact },
      },
    },
    idempotent(async (request, reply) => {
      const contact = await createContact(request.ctx, request.body)
      reply.code(201).header('location', `/contacts/${contact.id}`)
      return contact
    }),
  )

  app.put(
    '/contacts',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'contacts.upsert',
        summary: 'Create or update a contact by external id or email address',
        description: [
          'Looks for the contact by `externalId`, then by `email`; the header `matched-by` says which one found it. Sets the fields in the body and leaves the others unchanged. Safe to call concurrently.',
          'A contact that is found by `externalId` gets another `email` if no contact has it. A contact without an external id that is found by `email` gets `externalId`. Returns 409 `identity_conflict` with `contactIds` if the keys belong to different contacts, or if the address belongs to a contact with another external id.',
        ].join('\n\n'),
        body: ContactInput,
        response: { 200: Contact, 201: Contact },
      },
    },
    ifMatch(contactByKey, async (request, reply) => {
      const { contact, isNew, matchedBy } = await upsertContact(request.ctx, request.body)
      reply.header('matched-by', matchedBy)
      if (isNew) reply.code(201).header('location', `/contacts/${contact.id}`)
      return contact
    }),
  )

  app.get(
    '/contacts',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'contacts.list',
        summary: 'List contacts',
        description:
          'Returns the contacts that match all filters. `customField.<key>=<value>` filters by a custom field. `count=true` adds `total`. Returns 409 if something that the segment refers to was deleted, and 503 if the filter or segment takes longer than five seconds.',
        querystring: ContactQuery,
        response: { 200: CountedContactPage },
      },
    },
    (request) => listContacts(request.ctx, request.query),
  )

  app.get(
    '/contacts/export',
    {
      config: { role: 'MEMBER', hasOwnQuota: true, errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'contacts.export',
        summary: 'Export contacts',
        description: [
          'Streams all contacts that match the filters, as CSV or NDJSON. In a CSV, an apostrophe precedes every text that a spreadsheet would run as a formula; an import removes it.',
          'While another export of the workspace is under way, it returns 409 with the code `quota_exceeded`. An export whose client reads nothing for 30 seconds, or less than 512 kbit/s on average, is cut off.',
        ].join('\n\n'),
        querystring: ExportQuery,
        response: {
          200: {
            content: {
              'text/csv': { schema: z.string() },
              'application/x-ndjson': { schema: z.string().describe('One Contact per line') },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { format } = request.query
      const lines = await exportContacts(request.ctx, request.query, { idleMs: exportIdleMs })
      reply
        .type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson')
        .header('content-disposition', `attachment; filename="contacts.${format}"`)
      return lines as never
    },
  )

  app.get(
    '/contacts/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'contacts.get',
        summary: 'Retrieve a contact',
        description: 'Returns the contact with its tags and custom field values.',
        params,
        response: { 200: Contact },
      },
    },
    (request) => readContact(request.ctx, request.params.id),
  )

  app.patch(
    '/contacts/:id',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'contacts.update',
        summary: 'Update a contact',
        description:
          'Merges `customFieldValues` (`null` removes a key) and replaces `tags`. Emits `contact.updated`; a no-op update emits no event.',
        params,
        body: ContactChange,
        response: { 200: Contact },
      },
    },
    ifMatch(currentContact, (request) => updateContact(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/contacts/:id',
    {
      schema: {
        ...common,
        operationId: 'contacts.delete',
        summary: 'Delete a contact',
        description: deleteDescription,
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentContact, async (request, reply) => {
      await deleteContact(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/contacts/:id/export',
    {
      config: { role: 'MEMBER' },
      schema: {
        ...common,
        operationId: 'contacts.exportPerson',
        summary: 'Export a person',
        description: exportPersonDescription,
        params,
        response: { 200: PersonExport },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const json = await exportPerson(request.ctx, id)
      reply.type('application/json; charset=utf-8').header('content-disposition', `attachment; filename="${id}.json"`)
      return json as never
    },
  )

  app.post(
    '/contacts/:id/tags',
    {
      schema: {
        ...common,
        operationId: 'contacts.addTags',
        summary: 'Add tags to a contact',
        description:
          'Adds the tags that the contact does not have yet. Emits `contact.updated`; a no-op emits no event.',
        params,
        body: TagsInput,
        response: { 200: Contact },
      },
    },
    idempotent((request) => addTags(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/contacts/:id/tags/:tag',
    {
      schema: {
        ...common,
        operationId: 'contacts.removeTag',
        summary: 'Remove a tag from a contact',
        description: 'Removing a tag that the contact does not have is a no-op.',
        params: tagParams,
        response: { 200: Contact },
      },
    },
    ifMatch(currentContact, (request) => removeTag(request.ctx, request.params.id, request.params.tag)),
  )

  app.post(
    '/contacts/:id/merge',
    {
      schema: {
        ...common,
        operationId: 'contacts.merge',
        summary: 'Merge a duplicate into a contact',
        description:
          'Fills empty fields from the duplicate, combines tags and custom field values, and moves the deals, tasks and subscriptions of the duplicate. The strictest opt-out wins. Deletes the duplicate. Emits `contact.merged`, and `deal.updated` or `task.updated` for each deal and task that moves.',
        params,
        body: MergeInput,
        response: { 200: Contact },
      },
    },
    idempotent((request) => mergeContacts(request.ctx, request.params.id, request.body)),
  )

  app.get(
    '/contacts/:id/activity',
    {
      schema: {
        ...common,
        operationId: 'contacts.listActivity',
        summary: 'List the activity of a contact',
        description: 'Returns the events of the contact and of the contacts that were merged into it, newest first.',
        params,
        querystring: ActivityQuery,
        response: { 200: PageOf(Activity) },
      },
    },
    (request) => listActivity(request.ctx, request.params.id, request.query),
  )
}
