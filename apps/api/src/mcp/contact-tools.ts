import { listActivity } from '@rapport/core/contacts/list-activity.ts'
import { listContacts } from '@rapport/core/contacts/listing/list-contacts.ts'
import { readContact } from '@rapport/core/contacts/read-contact.ts'
import { changeTags } from '@rapport/core/contacts/update-contact.ts'
import { upsertContact } from '@rapport/core/contacts/upsert-contact.ts'
import { Contact, ContactInput } from '@rapport/core/contacts/contacts.schema.ts'
import { Activity } from '@rapport/core/events/activity.ts'
import { Tags } from '@rapport/core/kernel/values/tags.ts'
import { contactFilterFields } from '@rapport/core/contacts/listing/contact-query.schema.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { EmptyAsNone } from '@rapport/core/kernel/validation.ts'
import { readTrackingConsent } from '@rapport/core/operations/contacts/tracking-consent.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { TrackingConsent } from '@rapport/core/consent/tracking/tracking-consent.schema.ts'
import { TaskInput, Task } from '@rapport/core/tasks/tasks.schema.ts'
import { createTask } from '@rapport/core/tasks/tasks.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const {
  search,
  email,
  externalId,
  listId,
  companyId,
  emailSubscribedStatus,
  createdAfter,
  createdBefore,
  updatedAfter,
  updatedBefore,
} = contactFilterFields

const searchContacts = defineTool({
  name: 'search_contacts',
  operations: ['contacts.list'],
  title: 'Search contacts',
  description: 'Returns the contacts that match all filters, newest first; with `search`, best match first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({
    search: search.describe('Part of a name, email, company or phone; tolerates a typo.'),
    email,
    externalId,
    tags: EmptyAsNone(Tags).describe('Only contacts with all of these tags.'),
    listId,
    companyId,
    emailSubscribedStatus,
    createdAfter,
    createdBefore,
    updatedAfter,
    updatedBefore,
    ...pageInput,
  }),
  output: PageOf(Contact),
  run: (ctx, { tags, ...input }) => listContacts(ctx, { ...input, ...(tags && { tag: tags }), customFields: {} }),
})

const getContact = defineTool({
  name: 'get_contact',
  operations: ['contacts.get', 'contacts.getTrackingConsent', 'contacts.listActivity'],
  title: 'Get a contact',
  description:
    'Returns a contact, what it chose about tracking, and its activity, newest first: form submissions, and changes of the contact, its subscriptions, deals, tasks and notes.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ contactId: Id('con'), ...pageInput }),
  output: z.object({
    contact: Contact,
    trackingConsent: TrackingConsent,
    activity: PageOf(Activity).describe('A page of the activity.'),
  }),
  run: async (ctx, { contactId, ...page }) => ({
    contact: await readContact(ctx, contactId),
    trackingConsent: await readTrackingConsent(ctx, contactId),
    activity: await listActivity(ctx, contactId, { ...page, ...newestFirst }),
  }),
})

const upsert = defineTool({
  name: 'upsert_contact',
  operations: ['contacts.upsert'],
  title: 'Create or update a contact',
  description:
    'Creates a contact, or updates the contact with this external id or email address. Overwrites the given fields and leaves the others unchanged; `tags` replaces all tags. Does not subscribe the contact to a list. Idempotent.',
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject(ContactInput.shape),
  output: z.object({ contact: Contact, isNew: z.boolean().describe('Whether the contact was created.') }),
  run: async (ctx, input) => {
    const { contact, isNew } = await upsertContact(ctx, input)
    return { contact, isNew }
  },
})

const tags = EmptyAsNone(Tags).transform((given) => given ?? [])
const tagContacts = defineTool({
  name: 'tag_contacts',
  operations: ['contacts.addTags', 'contacts.removeTag'],
  title: 'Add and remove tags',
  description:
    'Adds tags to contacts, and removes tags from them. Changes all of the contacts or, if one does not exist, none of them. Idempotent.',
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z
    .strictObject({
      contactIds: z
        .array(Id('con'))
        .min(1)
        .max(50)
        .transform((ids) => [...new Set(ids)])
        .describe('The ids of 1 to 50 contacts. Duplicates are removed.'),
      add: tags.describe('The tags to add to each contact.'),
      remove: tags.describe('The tags to remove from each contact. A missing tag is not an error.'),
    })
    .refine(({ add, remove }) => add.length + remove.length > 0, { path: ['add'], error: 'add or remove is required' })
    .refine(({ add, remove }) => !add.some((one) => remove.includes(one)), {
      path: ['remove'],
      error: 'must not contain a tag of add',
    }),
  output: z.object({ contacts: z.array(Contact).describe('The contacts after the change.') }),
  run: async (ctx, change) => ({ contacts: await changeTags(ctx, change) }),
})

const addTask = defineTool({
  name: 'create_task',
  operations: ['tasks.create'],
  title: 'Create a task',
  description: 'Creates a task for a contact.',
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ contactId: Id('con'), ...TaskInput.shape }),
  output: z.object({ task: Task }),
  run: async (ctx, { contactId, ...input }) => ({ task: await createTask(ctx, contactId, input) }),
})

export const contactTools = [searchContacts, getContact, upsert, tagContacts, addTask]
