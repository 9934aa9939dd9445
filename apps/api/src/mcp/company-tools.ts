import { Company, CompanyInput, CompanyParameters } from '@rapport/core/companies/companies.schema.ts'
import { readCompany } from '@rapport/core/companies/find-company.ts'
import { listCompanies } from '@rapport/core/companies/list-companies.ts'
import { upsertCompany } from '@rapport/core/companies/write-companies.ts'
import { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { listContactsOfCompany } from '@rapport/core/contacts/listing/list-contacts.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { EmptyAsNone } from '@rapport/core/kernel/validation.ts'
import { Tags } from '@rapport/core/kernel/values/tags.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const { search, domain, externalId, ownerId } = CompanyParameters.shape

const searchCompanies = defineTool({
  name: 'search_companies',
  operations: ['companies.list'],
  title: 'Search companies',
  description: 'Returns the companies that match all filters, newest first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({
    search,
    domain,
    externalId,
    ownerId,
    tags: EmptyAsNone(Tags).describe('Only companies with all of these tags.'),
    ...pageInput,
  }),
  output: PageOf(Company),
  run: (ctx, { tags, ...input }) =>
    listCompanies(ctx, { ...input, ...newestFirst, ...(tags && { tag: tags }), customFields: {} }),
})

const getCompany = defineTool({
  name: 'get_company',
  operations: ['companies.get', 'companies.listContacts'],
  title: 'Get a company',
  description: 'Returns a company and its contacts, newest first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ companyId: Id('cpy'), ...pageInput }),
  output: z.object({ company: Company, contacts: PageOf(Contact).describe('A page of the contacts.') }),
  run: async (ctx, { companyId, ...page }) => ({
    company: await readCompany(ctx, companyId),
    contacts: await listContactsOfCompany(ctx, companyId, { ...page, ...newestFirst }),
  }),
})

const upsert = defineTool({
  name: 'upsert_company',
  operations: ['companies.upsert'],
  title: 'Create or update a company',
  description:
    'Creates a company, or updates the company with this external id or domain. Overwrites the given fields and leaves the others unchanged; `tags` replaces all tags. Idempotent.',
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject(CompanyInput.shape),
  output: z.object({ company: Company, isNew: z.boolean().describe('Whether the company was created.') }),
  run: async (ctx, input) => {
    const { company, isNew } = await upsertCompany(ctx, input)
    return { company, isNew }
  },
})

export const companyTools = [searchCompanies, getCompany, upsert]
