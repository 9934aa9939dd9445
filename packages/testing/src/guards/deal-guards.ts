import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const erasing = `${core}/deals/erase-deals.ts`
const fieldTests = [`${core}/deals/deal-fields.int.test.ts`]
const tests = [`${core}/deals/erase-deals.int.test.ts`]

/** No erasure of a person changes what the workspace has earned, and nothing that remains names the person. */
export const dealGuards: readonly TestedGuard[] = [
  {
    promise: 'writes',
    name: 'a contact gets a company that is being deleted',
    file: `${core}/companies/linked-companies.ts`,
    search: "\n    .for('key share', skipLocked ? { skipLocked } : {})",
    replacement: '',
    tests: [`${core}/contacts/contact-company.int.test.ts`],
  },
  {
    promise: 'writes',
    name: 'a record names a member who is leaving',
    file: `${core}/workspaces/named-members.ts`,
    search: "\n    .for('key share', skipLocked ? { skipLocked } : {})",
    replacement: '',
    tests: [`${core}/deals/deal-owner.int.test.ts`],
  },
  {
    promise: 'writes',
    name: 'an erasure deletes closed deals',
    file: erasing,
    search: "eq(deals.status, 'OPEN'), isNull",
    replacement: 'isNull',
    tests,
  },
  {
    promise: 'writes',
    name: 'an erasure deletes open deals of a company',
    file: erasing,
    search: ', isNull(deals.companyId))',
    replacement: ')',
    tests,
  },
  {
    promise: 'writes',
    name: 'a deal that outlives a person has its name',
    file: erasing,
    search: "      name: '',\n",
    replacement: '',
    tests,
  },
  {
    promise: 'writes',
    name: 'a deal that outlives a person has its custom texts',
    file: erasing,
    search: '      customFieldValues,\n',
    replacement: '',
    tests: fieldTests,
  },
  {
    promise: 'writes',
    name: 'a deal that outlives a person has the texts of a removed custom field',
    file: `${core}/custom-fields/without-texts.ts`,
    search: "eq(customFields.type, 'TEXT'),",
    replacement: "eq(customFields.type, 'TEXT'),\n        sql`${customFields.removedAt} is null`,",
    tests: fieldTests,
  },
  {
    promise: 'events',
    name: 'a webhook of contacts is disabled with a custom field of deals',
    file: `${core}/webhooks/webhooks.ts`,
    search: 'arrayContains(webhooks.eventTypes, [eventType])',
    replacement: 'sql`${eventType}::text is not null`',
    tests: fieldTests,
  },
  {
    promise: 'writes',
    name: 'the timelines of former contacts name an erased person',
    file: erasing,
    search: '  if (moved.length === 0) return\n',
    replacement: '  return\n',
    tests,
  },
  {
    promise: 'writes',
    name: 'an event of an erased person’s deal is in its timeline',
    file: `${core}/events/emit.ts`,
    search: '  if (data.contactErasedAt) return null\n',
    replacement: '',
    tests,
  },
  {
    promise: 'writes',
    name: 'a deal is given to a contact that does not exist',
    file: `${core}/deals/update-deal.ts`,
    search: '  await requireContact(ctx, contactId)\n',
    replacement: '',
    tests,
  },
  {
    promise: 'writes',
    name: 'a deal is created for a contact that does not exist',
    file: `${core}/deals/create-deal.ts`,
    search: '  owner: owningContact,\n',
    replacement: '',
    tests,
  },
]
