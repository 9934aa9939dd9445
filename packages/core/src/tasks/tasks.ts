import { isDeepStrictEqual } from 'node:util'
import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { withContactLocked } from '../contacts/lock-contact.ts'
import { owningContact, touchLastActivity } from '../contacts/touch-last-activity.ts'
import { insertWithEvents } from '../events/insert-with-events.ts'
import { timeOfUpdate } from '../kernel/time-of-update.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { invalidField, notFound, onConstraint } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { type ContactId, newId, type TaskId } from '../kernel/ids.ts'
import { jsonRows, updateStatement } from '../db/json-rows.ts'
import { tasks } from '../db/schema/index.ts'
import { type Task, type TaskChange, type TaskInput } from './tasks.schema.ts'
import { taskCompleted, taskCreated, taskDeleted } from './task-events.ts'

export type TaskRow = typeof tasks.$inferSelect

const assigneeNotFound = onConstraint('tasks_assignee_fk', () => invalidField('assigneeId', 'User not found'))

/** Creates an OPEN task for a contact and emits `task.created`. Throws `not_found` if the contact does not exist. */
export async function createTask(ctx: Ctx, contactId: ContactId, input: TaskInput): Promise<Task> {
  const now = new Date()
  const task: TaskRow = {
    workspaceId: ctx.workspaceId,
    id: newId('tsk'),
    contactId,
    title: input.title,
    notes: input.notes,
    status: 'OPEN',
    dueAt: input.dueAt,
    assigneeId: input.assigneeId,
    completedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  if (!(await insertTask(ctx, task).catch(assigneeNotFound))) throw notFound('Contact')
  return toTask(task)
}

const insertTask = insertWithEvents({
  into: jsonRows(tasks),
  event: taskCreated,
  toData: toTask,
  references: owningContact,
})

export async function readTask(ctx: Ctx, id: TaskId): Promise<Task> {
  const row = await findTask(ctx, id)
  if (!row) throw notFound('Task')
  return toTask(row)
}

/** Updates the given fields. DONE sets `completedAt` and emits `task.completed`; OPEN clears `completedAt`. */
export async function updateTask(ctx: Ctx, id: TaskId, change: TaskChange): Promise<Task> {
  const task = await withContactLocked(ctx, { id, find: findTask }, async (ctx, current) => {
    const next: TaskRow = { ...current, ...withoutUndefined(change) }
    if (isDeepStrictEqual(next, current)) return toTask(current)
    const saved = await saveTask(ctx, current, next)
    if (saved.status === 'DONE' && current.status === 'OPEN') {
      await touchLastActivity(ctx, saved.contactId)
      await emit(ctx, taskCompleted, toTask(saved))
    }
    return toTask(saved)
  })
  if (!task) throw notFound('Task')
  return task
}

/** Deletes a task and emits `task.deleted`. */
export async function deleteTask(ctx: Ctx, id: TaskId): Promise<void> {
  const task = await withContactLocked(ctx, { id, find: findTask }, async (ctx, row) => {
    await ctx.db.delete(tasks).where(byId(tasks, ctx, id))
    await touchLastActivity(ctx, row.contactId)
    await emit(ctx, taskDeleted, toTask(row))
    await audit(ctx, 'task.deleted', { subjectId: id })
    return row
  })
  if (!task) throw notFound('Task')
}

/** Moves the tasks of a locked contact to another locked contact. */
export async function moveTasks(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db
    .update(tasks)
    .set({ contactId: contacts.to, updatedAt: new Date() })
    .where(and(eq(tasks.workspaceId, ctx.workspaceId), eq(tasks.contactId, contacts.from)))
}

/** Deletes the tasks of a locked contact. */
export async function deleteTasksOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db.delete(tasks).where(and(eq(tasks.workspaceId, ctx.workspaceId), eq(tasks.contactId, contactId)))
}

async function saveTask(ctx: Ctx, current: TaskRow, next: TaskRow): Promise<TaskRow> {
  const now = timeOfUpdate(current.updatedAt)
  const completedAt = next.status === 'OPEN' ? null : now
  const saved = {
    ...next,
    completedAt: next.status === current.status ? next.completedAt : completedAt,
    updatedAt: now,
  }
  await updateRow(ctx.db, saved).catch(assigneeNotFound)
  return saved
}

const updateRow = updateStatement(tasks)

async function findTask(ctx: Ctx, id: TaskId): Promise<TaskRow | undefined> {
  const [row] = await ctx.db
    .select()
    .from(tasks)
    .where(byId(tasks, ctx, id))
  return row
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
