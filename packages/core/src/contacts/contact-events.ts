import { defineEvent } from '../events/event-definition.ts'
import { Contact, MergedContact } from './contacts.schema.ts'

export const contactCreated = defineEvent('contact.created', Contact)
export const contactUpdated = defineEvent('contact.updated', Contact)
export const contactDeleted = defineEvent('contact.deleted', Contact)
export const contactMerged = defineEvent('contact.merged', MergedContact)
