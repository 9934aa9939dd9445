import { defineUpdate } from '../events/changes.ts'
import { defineEvent } from '../events/event-definition.ts'
import { Company } from './companies.schema.ts'

export const companyCreated = defineEvent('company.created', Company)
export const companyUpdated = defineUpdate('company.updated', Company, {
  tags: ['customer', 'reference'],
  updatedAt: '2026-11-27T14:02:11.508Z',
})
export const companyDeleted = defineEvent('company.deleted', Company)
