import { and, eq, gt, lt, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { dueOrder, tasks } from '../db/schema/index.ts'
import { type TaskRow, toTask } from './tasks.ts'
import type { Task, TaskQuery } from './tasks.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import type { ContactId } from '../kernel/ids.ts'

/** Returns a page of the workspace's tasks that match every filter. Default order: longest overdue first. */
export function listTasks(ctx: Ctx, query: TaskQuery): Promise<Page<Task>> {
  return readTaskPage(ctx, query, { name: 'tasks', where: undefined })
}

export async function listTasksOfContact(ctx: Ctx, contactId: ContactId, query: TaskQuery): Promise<Page<Task>> {
  await readContact(ctx, contactId)
  return readTaskPage(ctx, query, { name: `tasks ${contactId}`, where: eq(tasks.contactId, contactId) })
}

async function readTaskPage(ctx: Ctx, query: TaskQuery, listing: { name: string; where: SQL | undefined }) {
  const { key, id } = query.sort.endsWith('dueAt') ? byDueDate : byCreation<TaskRow>(tasks)
  const page = await readPage<TaskRow>(ctx, {
    name: listing.name,
    query,
    key,
    id,
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(tasks)
        .where(and(taskFilter(ctx, query), listing.where, after))
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
    valueOf: (row: TaskRow) =>
      row.status === 'DONE' ? 'infinity' : (row.dueAt?.toISOString() ?? '10000-01-01 00:00:00+00'),
  },
  id: { column: tasks.id, valueOf: (row: TaskRow) => row.id },
} as const

function taskFilter(ctx: Ctx, query: TaskQuery): SQL | undefined {
  return and(
    eq(tasks.workspaceId, ctx.workspaceId),
    query.status ? eq(tasks.status, query.status) : undefined,
    // DONE tasks come last in this order. The condition on the sort key lets the index scan start there.
    query.status === 'DONE' ? sql`${dueOrderKey} = 'infinity'` : undefined,
    query.dueBefore ? lt(tasks.dueAt, query.dueBefore) : undefined,
    query.dueAfter ? gt(tasks.dueAt, query.dueAfter) : undefined,
    query.assigneeId ? eq(tasks.assigneeId, query.assigneeId) : undefined,
  )
}
