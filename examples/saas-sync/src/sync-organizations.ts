import type { Rapport } from '@rapport/sdk'
import type { Organization } from './customers.ts'

const batchSize = 100

/**
 * Creates or updates a company for each organization, and returns the ids by the id of the organization. A company that
 * fails stops the sync: its customers would have none.
 */
export async function syncOrganizations(
  rapport: Rapport,
  organizations: readonly Organization[],
): Promise<Map<string, string>> {
  const companyIds = new Map<string, string>()
  for (let start = 0; start < organizations.length; start += batchSize) {
    const batch = organizations.slice(start, start + batchSize)
    const companies = batch.map(({ id, name, domain }) => ({ externalId: id, name, domain }))
    const { results } = await rapport.companies.batch({ companies, onConflict: 'update' })
    // The results have the order of the request.
    for (const [index, { id }] of batch.entries()) {
      const result = results[index]
      if (!result || result.status === 'FAILED') throw new Error(`${id}: ${result?.message ?? 'no result'}`)
      companyIds.set(id, result.company.id)
    }
  }
  return companyIds
}
