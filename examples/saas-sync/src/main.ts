/** Syncs the organizations, customers and subscriptions of a product to companies, contacts and deals. Run it as often as you like. */
import { Rapport } from '@rapport/sdk'
import { customers, organizations, subscriptions } from './customers.ts'
import { createCustomField, planField, syncCustomers } from './sync-customers.ts'
import { syncOrganizations } from './sync-organizations.ts'
import { numberField, syncSubscriptions } from './sync-subscriptions.ts'

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

const rapport = new Rapport({ baseUrl, apiKey })
for (const field of [planField, numberField]) await createCustomField(rapport, field)

const companyIds = await syncOrganizations(rapport, organizations)
console.log(`${organizations.length} organizations: ${companyIds.size} companies`)
const { created, existing, failures, contactIds } = await syncCustomers(rapport, { customers, companyIds })
console.log(`${customers.length} customers: ${created} created, ${existing} existing, ${failures.length} failed`)
for (const { customer, failure } of failures) {
  const reasons = failure.issues?.map(({ path, message }) => `${path}: ${message}`) ?? [failure.message]
  console.log(`  ${customer.id} ${customer.email}: ${reasons.join(', ')}`)
}

const deals = await syncSubscriptions(rapport, subscriptions, { contactIds, companyIds })
console.log(
  `${subscriptions.length} subscriptions: ${deals.created} deals created, ${deals.won} won, ${deals.lost} lost`,
)
