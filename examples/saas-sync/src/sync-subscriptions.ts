import { type Deal, NotFoundError, type Rapport } from '@rapport/sdk'
import type { Subscription } from './customers.ts'

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
  const existing = await findDeals(rapport, pipelineId)
  for (const subscription of subscriptions) {
    const { id, organizationId } = subscription
    let deal = existing.get(id) ?? existing.get(known.companyIds.get(organizationId) ?? '')
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

const nameOf = ({ id, plan }: Subscription) => `${id}: ${plan}`

/**
 * By subscription, or by company if the person was erased, which empties the name of the deal. In all pipelines, as a person
 * may have moved a deal; a deal without a name only in that of subscriptions, as others have such deals too. An idempotency key is kept for 24 hours. This finds the deals also later.
 */
async function findDeals(rapport: Rapport, pipelineId: string): Promise<Map<string, Deal>> {
  const deals = new Map<string, Deal>()
  for await (const deal of rapport.deals.list()) {
    const companyId = deal.pipelineId === pipelineId ? deal.companyId : null
    const key = deal.contactErasedAt === null ? deal.name.split(':')[0] : companyId
    if (key) deals.set(key, deal)
  }
  return deals
}

function createDeal(
  rapport: Rapport,
  subscription: Subscription,
  { contactId, companyIds, pipelineId }: Pick<Known, 'companyIds'> & { contactId: string; pipelineId: string },
): Promise<Deal> {
  const { id, organizationId, yearlyCents } = subscription
  const companyId = companyIds.get(organizationId) ?? null
  return rapport.deals.create(
    { pipelineId, contactId, companyId, name: nameOf(subscription), valueCents: yearlyCents },
    // The key belongs to the subscription, so two processes that run at the same time create one deal.
    { idempotencyKey: `deal-${id}` },
  )
}
