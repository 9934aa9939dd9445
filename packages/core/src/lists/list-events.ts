import { defineEvent } from '../events/event-definition.ts'
import { List } from './lists.schema.ts'

export const listDeleted = defineEvent('list.deleted', List)
