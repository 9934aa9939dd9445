/** Syncs the organizations and customers of a product to companies and contacts, and records that one of them buys. Run it as often as you like. */
import { Rapport } from '@rapport/sdk'
import { customers, order, organizations } from './customers.ts'
import { recordOrder } from './record-order.ts'
import { createCustomField, syncCustomers } from './sync-customers.ts'
import { syncOrganizations } from './sync-organizations.ts'

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

const rapport = new Rapport({ baseUrl, apiKey })
await createCustomField(rapport)

const companyIds = await syncOrganizations(rapport, organizations)
console.log(`${organizations.length} organizations: ${companyIds.size} companies`)
const { created, existing, failures, contactIds } = await syncCustomers(rapport, { customers, companyIds })
console.log(`${customers.length} customers: ${created} created, ${existing} existing, ${failures.length} failed`)
for (const { customer, failure } of failures) {
  const reasons = failure.issues?.map(({ path, message }) => `${path}: ${message}`) ?? [failure.message]
  console.log(`  ${customer.id} ${customer.email}: ${reasons.join(', ')}`)
}

const contactId = contactIds.get(order.customerId)
if (!contactId) throw new Error(`${order.id}: the customer ${order.customerId} has no contact`)
const deal = await recordOrder(rapport, order, { contactId, companyId: companyIds.get(order.organizationId) ?? null })
console.log(`${order.customerId} buys "${order.product}": deal ${deal.id} is ${deal.status}`)
