import { defineUpdate } from '../events/changes.ts'
import { defineEvent } from '../events/event-definition.ts'
import { Contact, DeletedContact, MergedContact } from './contacts.schema.ts'

const later = '2026-11-27T14:02:11.508Z'

export const contactCreated = defineEvent('contact.created', Contact)
export const contactUpdated = defineUpdate('contact.updated', Contact, {
  company: 'Analytical Engines',
  updatedAt: later,
})
export const contactDeleted = defineEvent('contact.deleted', DeletedContact)
export const contactMerged = defineEvent('contact.merged', MergedContact, { updatedAt: later })
