import { defineUpdate } from '../events/changes.ts'
import { defineEvent } from '../events/event-definition.ts'
import { Task } from './tasks.schema.ts'

const later = '2026-11-27T08:45:20.316Z'

export const taskCreated = defineEvent('task.created', Task)
export const taskUpdated = defineUpdate('task.updated', Task, { dueAt: '2026-11-30T09:00:00.000Z', updatedAt: later })
export const taskCompleted = defineEvent('task.completed', Task, {
  status: 'DONE',
  completedAt: later,
  updatedAt: later,
})
export const taskDeleted = defineEvent('task.deleted', Task)
