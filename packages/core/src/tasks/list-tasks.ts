import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange, isInRange } from '../request/time-range.ts'
import { dueOrder, tasks } from '../db/schema/index.ts'
import { type TaskRow, toTask } from './tasks.ts'
import type { ContactTaskQuery, Task, TaskQuery } from './tasks.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import type { ContactId } from '../kernel/ids.ts'

/** Returns a page of the workspace's tasks that match every filter. Default order: longest overdue first. */
export function listTasks(ctx: Ctx, query: TaskQuery): Promise<Page<Task>> {
  return readTaskPage(ctx, 'tasks', query)
}

export async function listTasksOfContact(ctx: Ctx, contactId: ContactId, query: ContactTaskQuery): Promise<Page<Task>> {
  await readContact(ctx, contactId)
  return readTaskPage(ctx, `tasks ${contactId}`, { ...query, contactId })
}

async function readTaskPage(ctx: Ctx, name: string, query: TaskQuery) {
  const { key, id } = query.sort.endsWith('dueAt') ? byDueDate : byCreation<TaskRow>(tasks)
  const page = await readPage<TaskRow>(ctx, {
    name,
    query,
    key,
    id,
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(tasks)
        .where(and(taskFilter(ctx, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toTask) }
}

const dueOrderKey = dueOrder(tasks)
const byDueDate = {
  key: {
    column: dueOrderKey,
    type: 'timestamptz',
    valueOf: (row: TaskRow) => (row.status === 'DONE' ? 'infinity' : (row.dueAt ?? '10000-01-01 00:00:00+00')),
  },
  id: { column: tasks.id, valueOf: (row: TaskRow) => row.id },
} as const

function taskFilter(ctx: Ctx, query: TaskQuery): SQL | undefined {
  return and(
    eq(tasks.workspaceId, ctx.workspaceId),
    query.contactId ? eq(tasks.contactId, query.contactId) : undefined,
    query.status ? eq(tasks.status, query.status) : undefined,
    // DONE tasks come last in this order. The condition on the sort key lets the index scan start there.
    query.status === 'DONE' ? sql`${dueOrderKey} = 'infinity'` : undefined,
    isCreatedInRange(tasks, query),
    isInRange(tasks.dueAt, { after: query.dueAfter, before: query.dueBefore }),
    query.assigneeId ? eq(tasks.assigneeId, query.assigneeId) : undefined,
  )
}
