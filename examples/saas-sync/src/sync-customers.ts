import {
  ConflictError,
  type ContactBatchFailure,
  type ContactBatchSuccess,
  type ContactUpsert,
  type CustomFieldCreate,
  type Rapport,
} from '@rapport/sdk'
import type { Customer } from './customers.ts'

type ContactBatchResult = ContactBatchSuccess | ContactBatchFailure

export interface SyncResult {
  created: number
  existing: number
  failures: { customer: Customer; failure: ContactBatchFailure }[]
  /** Contact ids by customer id. */
  contactIds: Map<string, string>
}

/**
 * The most that one request takes. The limit is 100 requests per minute, so one minute is enough for 10,000 customers.
 */
const batchSize = 100
const maxAttempts = 3

interface Customers {
  customers: readonly Customer[]
  /** Company ids by the id of the organization. */
  companyIds: ReadonlyMap<string, string>
}

/**
 * The fields that the product owns. Others, such as tags, are not sent, so they keep the values of the sales team. The
 * contact is found by `externalId`, so a customer who changes the address remains one contact.
 */
function toContact(
  { id, email, firstName, lastName, plan, organizationId }: Customer,
  companyIds: Customers['companyIds'],
): ContactUpsert {
  const companyId = companyIds.get(organizationId) ?? null
  return { externalId: id, email, firstName, lastName, companyId, customFieldValues: { plan } }
}

export const planField: CustomFieldCreate = {
  key: 'plan',
  label: 'Plan',
  type: 'SELECT',
  options: ['Free', 'Team', 'Business'],
}

/** Creates a custom field unless it exists. */
export async function createCustomField(rapport: Rapport, field: CustomFieldCreate): Promise<void> {
  try {
    await rapport.customFields.create(field)
  } catch (error) {
    if (!(error instanceof ConflictError && error.code === 'already_exists')) throw error
  }
}

/** Creates or updates a contact for each customer. If the limit is reached, the SDK waits until it is reset. */
export async function syncCustomers(rapport: Rapport, { customers, companyIds }: Customers): Promise<SyncResult> {
  const result: SyncResult = { created: 0, existing: 0, failures: [], contactIds: new Map() }
  for (let start = 0; start < customers.length; start += batchSize) {
    await syncBatch(rapport, { customers: customers.slice(start, start + batchSize), companyIds }, result)
  }
  return result
}

/** A failed contact does not stop the others. It is sent again only if the failure may be temporary. */
async function syncBatch(rapport: Rapport, batch: Customers, total: SyncResult): Promise<void> {
  let open = batch.customers
  for (let attempt = 1; open.length > 0; attempt++) {
    const contacts = open.map((customer) => toContact(customer, batch.companyIds))
    const { results } = await rapport.contacts.batch({ contacts, onConflict: 'update' })
    const shouldRepeat = (result?: ContactBatchResult) =>
      result?.status === 'FAILED' && result.code === 'internal_error' && attempt < maxAttempts
    // The results have the order of the request.
    for (const [index, customer] of open.entries()) {
      const result = results[index]
      if (result && !shouldRepeat(result)) addResult(total, customer, result)
    }
    open = open.filter((_customer, index) => shouldRepeat(results[index]))
  }
}

function addResult(total: SyncResult, customer: Customer, result: ContactBatchResult): void {
  if (result.status === 'FAILED') {
    total.failures.push({ customer, failure: result })
  } else {
    total[result.status === 'CREATED' ? 'created' : 'existing'] += 1
    total.contactIds.set(customer.id, result.contact.id)
  }
}
