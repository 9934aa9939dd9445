import { isDeepStrictEqual } from 'node:util'
import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { lockContactOf, recordsOfContacts, withContactLocked } from '../contacts/records-of-contacts.ts'
import { owningContact, touchLastActivity } from '../contacts/touch-last-activity.ts'
import { insertWithEvents } from '../events/insert-with-events.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { byId, isOneOf, lockInOrder } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { updatesFrom } from '../events/changes.ts'
import { emit, emitMany, emitUpdates } from '../events/emit.ts'
import { maxNoteBytes, requireSize } from '../kernel/stored-size.ts'
import { type ContactId, newId, type TaskId, type UserId } from '../kernel/ids.ts'
import { jsonRows, updateStatement } from '../db/json-rows.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { tasks } from '../db/schema/index.ts'
import { type Task, type TaskChange, type TaskInput } from './tasks.schema.ts'
import { taskCompleted, taskCreated, taskDeleted, taskUpdated } from './task-events.ts'
import { clearMember, memberIn, requireMember } from '../workspaces/named-members.ts'

export type TaskRow = typeof tasks.$inferSelect

/** Creates an OPEN task for a contact and emits `task.created`. Throws `not_found` if the contact does not exist. */
export async function createTask(ctx: Ctx, contactId: ContactId, input: TaskInput): Promise<Task> {
  requireSize('notes', input.notes, maxNoteBytes)
  const now = timestampNow()
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
  if (await insertTask(ctx, task)) return toTask(task)
  await requireMember(ctx, 'assigneeId', input.assigneeId)
  throw notFound('Contact')
}

const insertTask = insertWithEvents({
  into: jsonRows(tasks),
  event: taskCreated,
  toData: toTask,
  references: memberIn('assigneeId'),
  owner: owningContact,
})

const taskRecords = recordsOfContacts(tasks)

export async function readTask(ctx: Ctx, id: TaskId): Promise<Task> {
  const row = await taskRecords.find(ctx, id)
  if (!row) throw notFound('Task')
  return toTask(row)
}

/**
 * Updates the given fields. DONE sets `completedAt`, OPEN clears it. Emits `task.completed` when the task is completed,
 * and `task.updated` for all other changes, including reopening.
 */
export async function updateTask(ctx: Ctx, id: TaskId, change: TaskChange): Promise<Task> {
  const task = await withContactLocked(ctx, { of: taskRecords, id }, async (ctx, current) => {
    const next: TaskRow = { ...current, ...withoutUndefined(change) }
    requireSize('notes', next.notes, maxNoteBytes)
    if (isDeepStrictEqual(next, current)) return toTask(current)
    const saved = await saveTask(ctx, current, next)
    await touchLastActivity(ctx, saved.contactId)
    await emitTaskEvents(ctx, current, saved)
    return toTask(saved)
  })
  if (!task) throw notFound('Task')
  return task
}

/** Deletes a task and emits `task.deleted`. */
export async function deleteTask(ctx: Ctx, id: TaskId): Promise<void> {
  const task = await withContactLocked(ctx, { of: taskRecords, id }, async (ctx, row) => {
    await ctx.db.delete(tasks).where(byId(tasks, ctx, id))
    await touchLastActivity(ctx, row.contactId)
    await emit(ctx, taskDeleted, toTask(row))
    await audit(ctx, 'task.deleted', { subjectId: id })
    return row
  })
  if (!task) throw notFound('Task')
}

/** Moves the tasks of a locked contact to another locked contact, and emits `task.updated` for each. */
export async function moveTasks(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  const change = { contactId: to, updatedAt: timeAtLeast(tasks.updatedAt, timestampNow()) }
  const lockNext = lockInOrder(tasks, ctx, eq(tasks.contactId, from))
  await changeWithEvents({
    changeBatch: async (limit) =>
      await ctx.db
        .update(tasks)
        .set(change)
        .where(isOneOf(tasks, ctx, await lockNext(limit)))
        .returning(),
    emit: async (rows) => await emitUpdates(ctx, taskUpdated, updatesFrom(rows.map(toTask), { contactId: from })),
  })
}

/** A subquery for the contacts of a member's tasks. */
export function selectContactsOfTasks(ctx: Ctx, userId: UserId) {
  const isAssigned = and(eq(tasks.workspaceId, ctx.workspaceId), eq(tasks.assigneeId, userId))
  return ctx.db.select({ id: tasks.contactId }).from(tasks).where(isAssigned)
}

/** Clears the assignee of a member's tasks: see `clearMember`. */
export const unassignTasks = clearMember({ table: tasks, field: 'assigneeId', event: taskUpdated, toData: toTask })

/** Deletes the tasks of a locked contact, and emits `task.deleted` for each. */
export async function deleteTasksOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  const lockNext = lockInOrder(tasks, ctx, eq(tasks.contactId, contactId))
  await changeWithEvents({
    changeBatch: async (limit) =>
      await ctx.db
        .delete(tasks)
        .where(isOneOf(tasks, ctx, await lockNext(limit)))
        .returning(),
    emit: async (rows) => await emitMany(ctx, taskDeleted, rows.map(toTask)),
  })
}

async function emitTaskEvents(ctx: Ctx, before: TaskRow, after: TaskRow): Promise<void> {
  const task = toTask(after)
  const { status, completedAt, updatedAt } = after
  const isUpdated = !isDeepStrictEqual({ ...before, status, completedAt, updatedAt }, after)
  const isReopened = status === 'OPEN' && before.status === 'DONE'
  if (isUpdated || isReopened) await emitUpdates(ctx, taskUpdated, [{ before: toTask(before), after: task }])
  if (status === 'DONE' && before.status === 'OPEN') await emit(ctx, taskCompleted, task)
}

async function saveTask(ctx: Ctx, current: TaskRow, next: TaskRow): Promise<TaskRow> {
  if (next.assigneeId !== current.assigneeId) await requireMember(ctx, 'assigneeId', next.assigneeId)
  const now = timeOfUpdate(current.updatedAt)
  const completedAt = next.status === 'OPEN' ? null : now
  const saved = {
    ...next,
    completedAt: next.status === current.status ? next.completedAt : completedAt,
    updatedAt: now,
  }
  await updateRow(ctx.db, saved)
  return saved
}

const updateRow = updateStatement(tasks)

/** Locks the contact of a task, and the task, as every change of the task does, until the transaction ends. */
export const lockTask = (ctx: Ctx, id: TaskId): Promise<void> => lockContactOf(ctx, { of: taskRecords, id })

export function toTask(row: TaskRow): Task {
  return {
    id: row.id,
    contactId: row.contactId,
    title: row.title,
    notes: row.notes,
    status: row.status,
    dueAt: row.dueAt,
    assigneeId: row.assigneeId,
    completedAt: row.completedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
