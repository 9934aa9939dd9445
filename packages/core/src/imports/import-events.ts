import { defineEvent } from '../events/event-definition.ts'
import { Import } from './imports.schema.ts'

export const importCompleted = defineEvent('import.completed', Import)
