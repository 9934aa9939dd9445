import { isDeepStrictEqual } from 'node:util'
import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { withContactLocked } from '../contacts/lock-contact.ts'
import { touchLastActivity } from '../contacts/update-contact.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { invalidField, notFound, onConstraint } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { newId } from '../kernel/ids.ts'
import { tasks } from '../db/schema/index.ts'
import { type Task, type TaskChange, type TaskInput } from './tasks.schema.ts'
import { taskCompleted, taskCreated, taskDeleted } from './task-events.ts'

export type TaskRow = typeof tasks.$inferSelect

const assigneeNotFound = onConstraint('tasks_assignee_fk', () => invalidField('assigneeId', 'User not found'))

/** Creates an OPEN task on a contact, and tells `task.created`. */
export function createTask(ctx: Ctx, contactId: string, input: TaskInput): Promise<Task> {
  return inTransaction(ctx, async (ctx) => {
    if (!(await touchLastActivity(ctx, contactId))) throw notFound('Contact')
    const [row] = await ctx.db
      .insert(tasks)
      .values({ ...input, workspaceId: ctx.workspaceId, id: newId('tsk'), contactId })
      .returning()
      .catch(assigneeNotFound)
    if (!row) throw new Error('INSERT … RETURNING returned nothing')
    const task = toTask(row)
    await emit(ctx, taskCreated, task)
    return task
  })
}

/** Reads one task. */
export async function readTask(ctx: Ctx, id: string): Promise<Task> {
  const row = await findTask(ctx, id)
  if (!row) throw notFound('Task')
  return toTask(row)
}

/** Sets what the change names. DONE sets `completedAt` and tells `task.completed`; OPEN clears it. */
export async function changeTask(ctx: Ctx, id: string, change: TaskChange): Promise<Task> {
  const task = await withContactLocked(ctx, { id, find: findTask }, async (ctx, current) => {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    const next: TaskRow = { ...current, ...given }
    if (isDeepStrictEqual(next, current)) return toTask(current)
    const row = await writeTask(ctx, current, next)
    if (row.status === 'DONE' && current.status === 'OPEN') {
      await touchLastActivity(ctx, row.contactId)
      await emit(ctx, taskCompleted, toTask(row))
    }
    return toTask(row)
  })
  if (!task) throw notFound('Task')
  return task
}

/** Removes a task, and tells `task.deleted`. */
export async function deleteTask(ctx: Ctx, id: string): Promise<void> {
  const task = await withContactLocked(ctx, { id, find: findTask }, async (ctx, row) => {
    await ctx.db.delete(tasks).where(matches(ctx, id))
    await touchLastActivity(ctx, row.contactId)
    await emit(ctx, taskDeleted, toTask(row))
    await audit(ctx, 'task.deleted', { subjectId: id })
    return row
  })
  if (!task) throw notFound('Task')
}

/** Moves the tasks of one contact to another, who is to be the same person. Both are locked. */
export async function moveTasks(ctx: Ctx, contacts: { from: string; to: string }): Promise<void> {
  await ctx.db
    .update(tasks)
    .set({ contactId: contacts.to, updatedAt: sql`clock_timestamp()` })
    .where(and(eq(tasks.workspaceId, ctx.workspaceId), eq(tasks.contactId, contacts.from)))
}

/** Deletes the tasks of a locked contact. */
export async function deleteTasksOfContact(ctx: Ctx, contactId: string): Promise<void> {
  await ctx.db.delete(tasks).where(and(eq(tasks.workspaceId, ctx.workspaceId), eq(tasks.contactId, contactId)))
}

/** By the clock and not by the transaction's beginning, so that changes which waited for each other follow in time. */
async function writeTask(ctx: Ctx, current: TaskRow, next: TaskRow): Promise<TaskRow> {
  const { title, notes, dueAt, assigneeId, status } = next
  const completedAt = status === 'OPEN' ? null : sql`clock_timestamp()`
  const [row] = await ctx.db
    .update(tasks)
    .set({
      title,
      notes,
      dueAt,
      assigneeId,
      ...(status !== current.status && { status, completedAt }),
      updatedAt: sql`clock_timestamp()`,
    })
    .where(matches(ctx, current.id))
    .returning()
    .catch(assigneeNotFound)
  if (!row) throw notFound('Task')
  return row
}

async function findTask(ctx: Ctx, id: string): Promise<TaskRow | undefined> {
  const [row] = await ctx.db.select().from(tasks).where(matches(ctx, id))
  return row
}

function matches(ctx: Ctx, id: string) {
  return and(eq(tasks.workspaceId, ctx.workspaceId), eq(tasks.id, id))
}

export function toTask(row: TaskRow): Task {
  return {
    id: row.id,
    contactId: row.contactId,
    title: row.title,
    notes: row.notes,
    status: row.status,
    dueAt: toTimestampOrNull(row.dueAt),
    assigneeId: row.assigneeId,
    completedAt: toTimestampOrNull(row.completedAt),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  }
}
