import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { type ContactId, newId, type UserId, uuidOf } from '../kernel/ids.ts'
import { events } from '../db/schema/index.ts'
import { openTransaction, openUnrepeated, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { explainSelects } from '@rapport/testing/postgres/explain.ts'
import {
  createTestContact,
  createTestCtx,
  createTestMember,
  createTestTask,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { listTasks, listTasksOfContact } from './list-tasks.ts'
import { updateTask, deleteTask, readTask } from './tasks.ts'
import { type Task, TaskQuery } from './tasks.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { removeMember } from '../team/members.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let task: Task
beforeEach(async () => {
  task = await createTestTask(ctx)
})

/** Returns the data of the events of a type, oldest first. */
async function readEventData(type: string): Promise<unknown[]> {
  const rows = await ctx.db
    .select()
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, type)))
    .orderBy(events.id)
  return rows.map(({ data }) => data)
}

test('a new task is OPEN, emits task.created and sets lastActivityAt', async () => {
  expect(task).toMatchObject({ status: 'OPEN', notes: '', dueAt: null, assigneeId: null, completedAt: null })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'task.created'])
  const [event] = await ctx.db
    .select()
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, 'task.created')))
  expect(event).toMatchObject({ data: task, contactId: task.contactId })
  expect((await readContact(ctx, task.contactId)).lastActivityAt).not.toBeNull()
})

test('DONE sets completedAt and emits task.completed once, OPEN clears it', async () => {
  const done = await updateTask(ctx, task.id, { status: 'DONE', notes: 'She was in.' })
  expect(Date.parse(done.completedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(task.createdAt))
  expect(await updateTask(ctx, task.id, { status: 'DONE' })).toEqual(done)
  expect((await updateTask(ctx, task.id, { title: 'Called' })).completedAt).toBe(done.completedAt)
  expect(await updateTask(ctx, task.id, { status: 'OPEN' })).toMatchObject({ status: 'OPEN', completedAt: null })
  expect((await listEventTypes(ctx)).slice(2)).toEqual([
    'task.updated',
    'task.completed',
    'task.updated',
    'task.updated',
  ])
})

test('an update emits task.updated and sets lastActivityAt, a no-op writes nothing', async () => {
  const due = await updateTask(ctx, task.id, { dueAt: timestampAt('2026-11-27T09:00:00Z') })
  expect(due.dueAt).toBe('2026-11-27T09:00:00.000Z')
  const contact = await readContact(ctx, task.contactId)
  expect(contact.lastActivityAt).not.toBe(task.createdAt)
  expect(await updateTask(ctx, task.id, { dueAt: timestampAt('2026-11-27T10:00:00+01:00'), title: 'Call' })).toEqual(
    due,
  )
  expect(await readContact(ctx, task.contactId)).toEqual(contact)
  expect((await listEventTypes(ctx)).slice(2)).toEqual(['task.updated'])
  expect(await readEventData('task.updated')).toMatchObject([due])
})

test('twenty concurrent completions emit one event', async () => {
  await Promise.all(Array.from({ length: 20 }, () => updateTask(ctx, task.id, { status: 'DONE' })))
  expect((await listEventTypes(ctx)).slice(2)).toEqual(['task.completed'])
})

test('deleting a task emits task.deleted and sets lastActivityAt', async () => {
  const { lastActivityAt } = await readContact(ctx, task.contactId)
  await deleteTask(ctx, task.id)
  expect((await readContact(ctx, task.contactId)).lastActivityAt).not.toBe(lastActivityAt)
  await expect(readTask(ctx, task.id)).rejects.toMatchObject({ code: 'not_found', message: 'Task not found' })
  await expect(updateTask(ctx, task.id, { title: 'a' })).rejects.toMatchObject({ code: 'not_found' })
  await expect(deleteTask(ctx, task.id)).rejects.toMatchObject({ code: 'not_found' })
  expect((await listEventTypes(ctx)).slice(2)).toEqual(['task.deleted'])
})

describe('the contact of a task', () => {
  test('deletes its tasks with it, and moves them in a merge', async () => {
    const [survivor, other] = [await createTestContact(ctx), await createTestTask(ctx)]
    await mergeContacts(ctx, survivor.id, { contactId: task.contactId })
    expect(await readTask(ctx, task.id)).toMatchObject({ contactId: survivor.id })
    await deleteContact(ctx, other.contactId)
    await expect(readTask(ctx, other.id)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('rejects tasks created or updated during its deletion', async () => {
    const deleting = await openTransaction(ctx.db, (db) => deleteContact({ ...ctx, db }, task.contactId))
    const results = Promise.allSettled([
      createTestTask(ctx, { contactId: task.contactId }),
      updateTask(ctx, task.id, { status: 'DONE' }),
      deleteTask(ctx, task.id),
    ])
    await waitUntilBlocked(database.db, 3)
    await deleting.commit()
    expect(await results).toMatchObject([
      { reason: { message: 'Contact not found' } },
      { reason: { message: 'Task not found' } },
      { reason: { message: 'Task not found' } },
    ])
  })
})

describe('the assignee of a task', () => {
  test('must be a member of the workspace', async () => {
    const member = await createTestMember(ctx)
    expect(await updateTask(ctx, task.id, { assigneeId: member })).toMatchObject({ assigneeId: member })
    const otherMember = await createTestMember(await createTestCtx(database.db))
    for (const assigneeId of [otherMember, newId('usr')]) {
      const error = { code: 'validation_error', issues: [{ path: 'assigneeId', message: 'User not found' }] }
      await expect(updateTask(ctx, task.id, { assigneeId })).rejects.toMatchObject(error)
      await expect(createTestTask(ctx, { assigneeId })).rejects.toMatchObject(error)
    }
    expect((await updateTask(ctx, task.id, { assigneeId: null })).assigneeId).toBeNull()
  })

  test('is cleared when the member leaves the workspace', async () => {
    const [member, other] = [await createTestMember(ctx), await createTestMember(ctx)]
    const done = await updateTask(ctx, task.id, { assigneeId: member, status: 'DONE' })
    const kept = await createTestTask(ctx, { assigneeId: other })
    const { lastActivityAt } = await readContact(ctx, task.contactId)
    await removeMember(ctx, member)
    const cleared = { ...done, assigneeId: null, updatedAt: expect.any(String) }
    expect(await readTask(ctx, task.id)).toEqual(cleared)
    expect((await readEventData('task.updated')).at(-1)).toMatchObject(cleared)
    expect((await readContact(ctx, task.contactId)).lastActivityAt).toBe(lastActivityAt)
    expect(await readTask(ctx, kept.id)).toEqual(kept)
  })

  test('is cleared in a task that is assigned while the member leaves', async () => {
    const member = await createTestMember(ctx)
    const assigning = await openTransaction(ctx.db, (db) => updateTask({ ...ctx, db }, task.id, { assigneeId: member }))
    const leaving = removeMember(ctx, member)
    await waitUntilBlocked(database.db)
    await assigning.commit()
    await leaving
    expect(await readTask(ctx, task.id)).toMatchObject({ assigneeId: null })
    expect(await readEventData('task.updated')).toMatchObject([{ assigneeId: member }, { assigneeId: null }])
  })

  test('members who leave do not deadlock with changes of their tasks', async () => {
    const contacts = await Promise.all(Array.from({ length: 8 }, () => createTestContact(ctx)))
    const unrepeated = { ...ctx, db: openUnrepeated(database) }
    for (let round = 0; round < 10; round++) {
      const member = await createTestMember(ctx)
      const assigned = await Promise.all(
        contacts.map(({ id: contactId }) => createTestTask(ctx, { contactId, assigneeId: member })),
      )
      await Promise.all([
        removeMember(unrepeated, member),
        ...assigned.map(({ id }, n) =>
          n % 2 ? updateTask(unrepeated, id, { title: 'Write' }) : deleteTask(unrepeated, id),
        ),
        mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId: (await createTestContact(ctx)).id }),
      ])
    }
    const { data } = await listTasks(ctx, TaskQuery.parse({ limit: '100' }))
    expect(data.filter(({ assigneeId }) => assigneeId)).toEqual([])
  })
})

describe('listing tasks', () => {
  const titles = async (query: Record<string, string> = {}) =>
    (await listTasks(ctx, TaskQuery.parse(query))).data.map(({ title }) => title)
  let member: UserId
  let contactId: ContactId
  beforeEach(async () => {
    await deleteTask(ctx, task.id)
    member = await createTestMember(ctx)
    contactId = (await createTestContact(ctx)).id
    const make = (title: string, fields: Parameters<typeof createTestTask>[1]) =>
      createTestTask(ctx, { title, ...fields })
    await make('some day', {})
    await make('tomorrow', { dueAt: '2031-01-02T00:00:00Z', assigneeId: member })
    await make('overdue', { dueAt: '2001-01-02T00:00:00Z', contactId })
    await make('long overdue', { dueAt: '2001-01-01T00:00:00Z', contactId, assigneeId: member })
    const done = await make('done', { dueAt: '1999-01-01T00:00:00Z' })
    await updateTask(ctx, done.id, { status: 'DONE' })
    await make('at the end of time', { dueAt: '9999-12-31T23:59:59.999Z' })
  })

  const defaultOrder = ['long overdue', 'overdue', 'tomorrow', 'at the end of time', 'some day', 'done']
  test.each([
    [{}, defaultOrder],
    [{ sort: 'dueAt' }, defaultOrder],
    [{ sort: '-dueAt' }, defaultOrder.toReversed()],
    [{ sort: 'createdAt' }, ['some day', 'tomorrow', 'overdue', 'long overdue', 'done', 'at the end of time']],
    [{ status: 'OPEN' }, defaultOrder.slice(0, -1)],
    [{ status: 'DONE' }, ['done']],
    [{ status: 'DONE', sort: '-createdAt' }, ['done']],
    [{ dueBefore: '2001-01-02T00:00:00Z' }, ['long overdue', 'done']],
    [{ dueAfter: '2001-01-02', dueBefore: '2031-01-02' }, ['overdue']],
    [{ dueAfter: '2001-01-02T00:00:00Z', dueBefore: '2031-01-02T00:00:00.001Z' }, ['overdue', 'tomorrow']],
  ])('%j returns %j', async (query, expected) => {
    expect(await titles(query as Record<string, string>)).toEqual(expected)
  })

  test('filters by assignee and by contact', async () => {
    expect(await titles({ assigneeId: member })).toEqual(['long overdue', 'tomorrow'])
    expect(await titles({ assigneeId: newId('usr') })).toEqual([])
    expect(await titles({ contactId })).toEqual(['long overdue', 'overdue'])
    expect(await titles({ contactId: newId('con') })).toEqual([])
    const { data } = await listTasksOfContact(ctx, contactId, TaskQuery.parse({ sort: '-dueAt' }))
    expect(data.map(({ title }) => title)).toEqual(['overdue', 'long overdue'])
    await expect(listTasksOfContact(ctx, newId('con'), TaskQuery.parse({}))).rejects.toMatchObject({
      message: 'Contact not found',
    })
  })

  test.each(['dueAt', '-dueAt', 'createdAt', '-createdAt'])(
    'returns each task once across pages sorted by %s',
    async (sort) => {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const query: Record<string, string> = { sort, limit: '1', ...(cursor && { cursor }) }
        const page = await listTasks(ctx, TaskQuery.parse(query))
        seen.push(...page.data.map(({ title }) => title))
        cursor = page.nextCursor
      } while (cursor)
      expect(seen).toEqual(await titles({ sort }))
      expect(new Set(seen).size).toBe(6)
    },
  )
})

test('every list query uses an index', async () => {
  const member = await createTestMember(ctx)
  await ctx.db.execute(sql`
    insert into tasks (workspace_id, id, contact_id, title, due_at, assignee_id, status, completed_at, created_at)
    select workspace_id, uuidv7(), id, 'Call', now() + n * interval '1 hour', ${uuidOf(member)},
      case when n % 10 = 0 then 'DONE' else 'OPEN' end, case when n % 10 = 0 then now() end, now() - n * interval '1 hour'
    from contacts, generate_series(1, 10000) n where id = ${uuidOf(task.contactId)}`)
  await ctx.db.execute(sql`vacuum analyze tasks`)
  const queries: Record<string, string>[] = [
    {},
    { sort: '-createdAt' },
    { status: 'OPEN' },
    { status: 'DONE' },
    { assigneeId: member },
    { assigneeId: member, status: 'DONE' },
    { dueBefore: '2020-01-01T00:00:00Z' },
    { dueAfter: '2029-01-01T00:00:00Z', status: 'OPEN' },
    { createdBefore: '2020-01-01' },
    { contactId: task.contactId },
  ]
  for (const query of queries) {
    const parsed = TaskQuery.parse(query)
    const plans = await explainSelects(database, { ctx, table: 'tasks' }, async (ctx) => {
      await listTasks(ctx, parsed)
      await listTasksOfContact(ctx, task.contactId, parsed)
    })
    const sequentialScans = plans.filter((plan) => plan.includes('Seq Scan on tasks'))
    expect([query, plans.length, sequentialScans]).toEqual([query, 2, []])
  }
})
