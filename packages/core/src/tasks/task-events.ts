import { defineEvent } from '../events/event-definition.ts'
import { Task } from './tasks.schema.ts'

export const taskCreated = defineEvent('task.created', Task)
export const taskCompleted = defineEvent('task.completed', Task)
export const taskDeleted = defineEvent('task.deleted', Task)
