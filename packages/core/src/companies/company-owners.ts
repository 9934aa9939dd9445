import { companies } from '../db/schema/index.ts'
import { clearMember } from '../workspaces/named-members.ts'
import { companyUpdated } from './company-events.ts'
import { toCompany } from './company-record.ts'

/** Clears the owner of a member's companies: see `clearMember`. */
export const clearCompanyOwners = clearMember({
  table: companies,
  field: 'ownerId',
  event: companyUpdated,
  toData: toCompany,
})
