import type { Deal, Rapport } from '@rapport/sdk'
import type { Order } from './customers.ts'

interface Buyer {
  contactId: string
  companyId: string | null
}

/**
 * Creates the deal of an order and marks it as won. A deal that is not open keeps its status: a person may have set it.
 */
export async function recordOrder(rapport: Rapport, order: Order, buyer: Buyer): Promise<Deal> {
  const deal = (await findDeal(rapport, order, buyer)) ?? (await createDeal(rapport, order, buyer))
  return deal.status === 'OPEN' ? rapport.deals.update(deal.id, { status: 'WON' }) : deal
}

const nameOf = ({ id, product }: Order) => `${id}: ${product}`

/** An idempotency key is kept for 24 hours. This finds the deal of an order also later. */
async function findDeal(rapport: Rapport, order: Order, { contactId }: Buyer): Promise<Deal | undefined> {
  for await (const deal of rapport.deals.list({ contactId })) if (deal.name === nameOf(order)) return deal
  return undefined
}

async function createDeal(rapport: Rapport, order: Order, buyer: Buyer): Promise<Deal> {
  const { data } = await rapport.pipelines.list()
  const pipeline = data[0]
  if (!pipeline) throw new Error('The workspace has no pipeline')
  return rapport.deals.create(
    { ...buyer, pipelineId: pipeline.id, name: nameOf(order), valueCents: order.valueCents },
    // The key belongs to the order, so two processes that run at the same time create one deal.
    { idempotencyKey: `deal-${order.id}` },
  )
}
