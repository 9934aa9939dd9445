import { type CustomFieldCreate, type Deal, NotFoundError, type Rapport } from '@rapport/sdk'
import type { Subscription } from './customers.ts'

/** Which subscription a deal is of. The erasure of the person empties the name and all texts, and leaves numbers. */
export const numberField = {
  object: 'DEAL',
  key: 'subscription',
  label: 'Subscription',
  type: 'NUMBER',
} satisfies CustomFieldCreate

interface Known {
  /** Contact ids by customer id. */
  contactIds: ReadonlyMap<string, string>
  /** Company ids by the id of the organization. */
  companyIds: ReadonlyMap<string, string>
}

interface SyncedDeals {
  created: number
  won: number
  lost: number
}

/**
 * Creates a deal for each subscription, and moves it to WON or LOST when the trial ends. A deal that is not open keeps its
 * status: a person may have set it, and what was won stays won when the subscription ends later.
 */
export async function syncSubscriptions(
  rapport: Rapport,
  subscriptions: readonly Subscription[],
  known: Known,
): Promise<SyncedDeals> {
  // The oldest: a pipeline that is added later is for other deals.
  const { data } = await rapport.pipelines.list({ sort: 'createdAt' })
  const pipelineId = data[0]?.id
  if (!pipelineId) throw new Error('The workspace has no pipeline')
  const total: SyncedDeals = { created: 0, won: 0, lost: 0 }
  const existing = await findDeals(rapport)
  for (const subscription of subscriptions) {
    let deal = existing.get(subscription.number)
    if (!deal) {
      const contactId = known.contactIds.get(subscription.customerId)
      // The customer failed before, and is reported there.
      if (!contactId) continue
      deal = await createDeal(rapport, subscription, { contactId, companyIds: known.companyIds, pipelineId })
      total.created += 1
    }
    if (deal.status !== 'OPEN' || subscription.state === 'TRIAL') continue
    const isWon = subscription.state === 'ACTIVE'
    const change = isWon ? { status: 'WON' as const } : { status: 'LOST' as const, lostReason: 'Canceled the trial' }
    try {
      await rapport.deals.update(deal.id, change)
    } catch (error) {
      // A person has deleted the deal, which its idempotency key still returns.
      if (error instanceof NotFoundError) continue
      throw error
    }
    total[isWon ? 'won' : 'lost'] += 1
  }
  return total
}

/**
 * By the number of the subscription. In all pipelines, as a person may have moved a deal. An idempotency key is kept for 24
 * hours. This finds the deals also later.
 */
async function findDeals(rapport: Rapport): Promise<Map<unknown, Deal>> {
  const deals = new Map<unknown, Deal>()
  for await (const deal of rapport.deals.list()) deals.set(deal.customFieldValues[numberField.key], deal)
  return deals
}

function createDeal(
  rapport: Rapport,
  subscription: Subscription,
  { contactId, companyIds, pipelineId }: Pick<Known, 'companyIds'> & { contactId: string; pipelineId: string },
): Promise<Deal> {
  const { number, organizationId, plan, yearlyCents } = subscription
  const companyId = companyIds.get(organizationId) ?? null
  return rapport.deals.create(
    {
      pipelineId,
      contactId,
      companyId,
      name: `Subscription ${number}: ${plan}`,
      valueCents: yearlyCents,
      customFieldValues: { [numberField.key]: number },
    },
    // The key belongs to the subscription, so two processes that run at the same time create one deal.
    { idempotencyKey: `deal-${number}` },
  )
}
