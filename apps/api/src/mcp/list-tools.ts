import { Subscription } from '@rapport/core/consent/subscriptions.schema.ts'
import { FilterPreview } from '@rapport/core/contacts/listing/contact-query.schema.ts'
import { previewFilter } from '@rapport/core/contacts/listing/preview-filter.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { List, ListInput, ListQuery, ListRecord, SubscriberInput } from '@rapport/core/lists/lists.schema.ts'
import { createList, listLists } from '@rapport/core/lists/lists.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { ContactFilter } from '@rapport/core/segments/filter.schema.ts'
import { Segment, SegmentQuery } from '@rapport/core/segments/segments.schema.ts'
import { listSegments, readSegment } from '@rapport/core/segments/segments.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const lists = defineTool({
  name: 'list_lists',
  operations: ['lists.list'],
  title: 'List lists',
  description: 'Returns the lists of the workspace with their number of confirmed subscribers, newest first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ search: ListQuery.shape.search, ...pageInput }),
  output: PageOf(List),
  run: (ctx, input) => listLists(ctx, { ...input, ...newestFirst }),
})

const adds = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

const newList = defineTool({
  name: 'create_list',
  operations: ['lists.create'],
  title: 'Create a list',
  description: 'Creates a list without subscribers. Not idempotent: a repeated call creates another list.',
  role: 'MEMBER',
  annotations: adds,
  input: z.strictObject(ListInput.shape),
  output: z.object({ list: ListRecord }),
  run: async (ctx, input) => ({ list: await createList(ctx, input) }),
})

const { contactId, email } = SubscriberInput.shape
const subscribe = defineTool({
  name: 'add_subscriber',
  operations: ['lists.addSubscriber'],
  title: 'Ask a contact to subscribe',
  description:
    'Sends an email in which the person can confirm a subscription to a list. It is PENDING until then; a confirmed one stays confirmed. The error `opted_out` means that only the person can subscribe again. Not idempotent: a repeated call may send another email.',
  role: 'MEMBER',
  annotations: { ...adds, openWorldHint: true },
  input: z
    .strictObject({
      listId: Id('lst'),
      contactId: contactId.describe('The contact. Either this or `email` is required.'),
      email,
    })
    .refine((input) => (input.contactId === undefined) !== (input.email === undefined), {
      path: ['contactId'],
      error: 'either contactId or email is required, but not both',
    }),
  output: z.object({ subscription: Subscription }),
  // Never CONFIRMED: only the person, or a back end that has the proof, states consent.
  async run(ctx, { listId, ...contact }) {
    const { subscription } = await addSubscriber(ctx, listId, { ...contact, status: 'PENDING' })
    return { subscription }
  },
})

const segments = defineTool({
  name: 'list_segments',
  operations: ['segments.list'],
  title: 'List segments',
  description: 'Returns the saved filters over contacts, newest first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ search: SegmentQuery.shape.search, ...pageInput }),
  output: PageOf(Segment),
  run: (ctx, input) => listSegments(ctx, { ...input, ...newestFirst }),
})

/** Described in words: the schema of all filters is as long as that of five tools. */
const AnyFilter = z
  .looseObject({})
  .transform((filter): unknown => filter)
  .pipe(ContactFilter)
  .describe(
    'A filter to try, as `list_segments` returns them. A leaf is `{"field": "company", "eq": "Acme"}` with `eq`, `ne`, `lt`, `gte`, `contains`, `startsWith`, `in`, `before`, `after`, `within`, `notWithin` or `isSet`; `{"field": "customFieldValues.plan", "in": ["pro"]}`; `{"tags": {"has": "vip"}}`; `{"list": "<listId>", "status": "CONFIRMED"}`; `{"campaign": "any", "did": "open", "within": "30d"}`; or `{"deal": {"status": "OPEN"}}`. `{"all": [...]}`, `{"any": [...]}` and `{"not": {...}}` combine them.',
  )

const preview = defineTool({
  name: 'preview_segment',
  operations: ['segments.get', 'segments.preview'],
  title: 'Preview a segment',
  description: 'Counts the contacts that match a segment or a filter, and returns the newest ten of them.',
  role: 'VIEWER',
  annotations: reads,
  input: z
    .strictObject({
      segmentId: Id('seg').optional().describe('The segment. Either this or `filter` is required.'),
      filter: AnyFilter.optional(),
    })
    .refine(({ segmentId, filter }) => (segmentId === undefined) !== (filter === undefined), {
      path: ['segmentId'],
      error: 'either segmentId or filter is required, but not both',
    }),
  output: FilterPreview,
  async run(ctx, { segmentId, filter }) {
    const tried = segmentId === undefined ? filter : (await readSegment(ctx, segmentId)).filter
    return await previewFilter(ctx, tried as NonNullable<typeof filter>)
  },
})

export const listTools = [lists, newList, subscribe, segments, preview]
