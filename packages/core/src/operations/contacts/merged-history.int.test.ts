/** After a merge, the remaining contact shows the events of all contacts that were merged into it. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { ActivityQuery } from '../../events/activity.ts'
import { listActivity } from '../../contacts/list-activity.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { type ContactId, newId, uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { EventQuery } from '../../webhooks/deliveries.schema.ts'
import { listEvents } from '../../webhooks/event-feed.ts'
import { createTestContact, createTestCtx, createTestTask } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { explainSelects } from '@rapport/testing/postgres/explain.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { deleteContact } from './delete-contact.ts'
import { mergeContacts } from './merge-contacts.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Creates a contact with `count` events. */
async function createWithEvents(count: number): Promise<ContactId> {
  const { id } = await createTestContact(ctx)
  for (let n = 1; n < count; n++) await updateContact(ctx, id, { firstName: `name ${n}` })
  return id
}

/** Reads all pages of two events. */
async function readActivity(id: ContactId, sort = '-createdAt'): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await listActivity(ctx, id, ActivityQuery.parse({ limit: '2', sort, cursor }))
    expect(page.data.length).toBeLessThanOrEqual(2)
    ids.push(...page.data.map((event) => event.id))
    cursor = page.nextCursor
  }
  return ids
}

/** Waits for the feed to show this many events: it shows an event only after all earlier transactions have ended. */
const readFeed = (count: number, query: Record<string, string>, on: Ctx = ctx) =>
  waitUntil(
    async () => {
      const { data } = await listEvents(on, EventQuery.parse({ limit: '100', ...query }))
      return data.length >= count && data.map((event) => event.id)
    },
    { describe: `the feed shows ${count} events` },
  )

test('the activity and the feed of a survivor have the events of a chain of merges', async () => {
  const [first, second, third] = [await createWithEvents(4), await createWithEvents(3), await createWithEvents(2)]
  const task = await createTestTask(ctx, { contactId: first })
  await createWithEvents(3)
  await mergeContacts(ctx, second, { contactId: first })
  await mergeContacts(ctx, third, { contactId: second })
  const { rows } = await ctx.db.execute<{ id: string; type: string }>(sql`
    select id, type from events where workspace_id = ${uuidOf(ctx.workspaceId)}
      and contact_id in (${uuidOf(first)}, ${uuidOf(second)}, ${uuidOf(third)}) order by created_at desc, id desc`)
  // Each merge emits contact.merged, and task.updated for the task that moves.
  expect(rows).toHaveLength(4 + 3 + 2 + 1 + 4)
  const activity = await readActivity(third)
  expect(activity.map((id) => uuidOf(id as never))).toEqual(rows.map(({ id }) => id))
  expect(await readActivity(third, 'createdAt')).toEqual(activity.toReversed())
  expect((await readFeed(rows.length, { contactId: third })).toSorted()).toEqual(activity.toSorted())
  const updated = await readFeed(2, { contactId: third, type: 'task.updated' })
  expect(updated).toHaveLength(rows.filter(({ type }) => type === 'task.updated').length)
  expect((await listActivity(ctx, third, ActivityQuery.parse({}))).data).toContainEqual(
    expect.objectContaining({ type: 'task.created', data: task }),
  )
  await expect(listActivity(ctx, first, ActivityQuery.parse({}))).rejects.toMatchObject({ code: 'not_found' })
})

test('a page keeps its place while another contact is merged', async () => {
  const [survivor, duplicate] = [await createWithEvents(4), await createWithEvents(4)]
  const first = await listActivity(ctx, survivor, ActivityQuery.parse({ limit: '2' }))
  await mergeContacts(ctx, survivor, { contactId: duplicate })
  const rest = await listActivity(ctx, survivor, ActivityQuery.parse({ limit: '100', cursor: first.nextCursor }))
  const all = await readActivity(survivor)
  const older = all.slice(all.indexOf(first.data.at(-1)?.id ?? '') + 1)
  expect(rest.data.map((event) => event.id)).toEqual(older)
})

test('the history of another workspace stays invisible', async () => {
  const other = await createTestCtx(database.db)
  const [kept, merged] = [await createTestContact(other), await createTestContact(other)]
  await mergeContacts(other, kept.id, { contactId: merged.id })
  await expect(listActivity(ctx, kept.id, ActivityQuery.parse({}))).rejects.toMatchObject({ code: 'not_found' })
  expect(await readFeed(3, { contactId: kept.id }, other)).toHaveLength(3)
  const own = await createWithEvents(1)
  await readFeed(1, { contactId: own })
  for (const contactId of [kept.id, merged.id, newId('con')]) expect(await readFeed(0, { contactId })).toEqual([])
  // An alias of the other workspace with the id of an own contact has no effect.
  await ctx.db.execute(sql`
    insert into contact_aliases (workspace_id, id, contact_id)
    values (${uuidOf(other.workspaceId)}, ${uuidOf(own)}, ${uuidOf(kept.id)})`)
  expect(await readFeed(3, { contactId: kept.id }, other)).toHaveLength(3)
})

test('the feed keeps the events of a deleted contact', async () => {
  const id = await createWithEvents(2)
  await deleteContact(ctx, id)
  expect(await readFeed(3, { contactId: id })).toHaveLength(3)
})

test('the activity reads one page per merged contact, through the index', async () => {
  const [survivor, duplicate] = [await createWithEvents(1), await createWithEvents(1)]
  await mergeContacts(ctx, survivor, { contactId: duplicate })
  await ctx.db.execute(sql`
    insert into events (workspace_id, id, type, data, contact_id, created_at)
    select ${uuidOf(ctx.workspaceId)}, uuidv7(), 'contact.updated', '{}',
      case n % 2 when 0 then ${uuidOf(survivor)}::uuid else ${uuidOf(duplicate)}::uuid end,
      now() - n * interval '1 second'
    from generate_series(1, 20000) n`)
  await ctx.db.execute(sql`analyze events`)
  const [plan] = await explainSelects(database, { ctx, table: '\\(\\s+select' }, (ctx) =>
    listActivity(ctx, survivor, ActivityQuery.parse({})),
  )
  // Already in the order of the page, so that the scan ends with it.
  expect(plan).toMatch(/Limit.*\n *-> +Merge Append.*\n.*Sort Key.*\n *-> +Index Scan Backward using events_/)
})
