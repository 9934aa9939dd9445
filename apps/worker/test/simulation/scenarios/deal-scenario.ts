/** What is simulated of deals: calls win, lose, reopen, move and give them away, while their contacts are merged and erased. */
import type { Database } from '@rapport/core/db/client.ts'
import { companies } from '@rapport/core/db/schema/index.ts'
import { type DealChange, DealQuery } from '@rapport/core/deals/deals.schema.ts'
import { listDeals } from '@rapport/core/deals/list-deals.ts'
import { updateDeal } from '@rapport/core/deals/update-deal.ts'
import { type ContactId, type DealId, newId } from '@rapport/core/kernel/ids.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import {
  createDealModel,
  type DealModel,
  deleteModelContact,
  mergeModelContacts,
  type ModelDeal,
  ModelRejection,
  updateModelDeal,
} from '@rapport/testing/fixtures/deal-model.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestPipeline,
} from '@rapport/testing/fixtures/factories.ts'
import { type Choices, pick } from '../choices.ts'
import type { TraceEntry } from '../tasks.ts'
import { isCommitOf, isLateCommitOf } from '../trace-checks.ts'
import type { Scenario } from '../world.ts'

interface DealCall {
  name: string
  call: (ctx: Ctx) => Promise<unknown>
  /** The same in the model. */
  apply: (model: DealModel) => void
}

export async function prepareDeals(database: Database, choices: Choices): Promise<Scenario> {
  const ctx = await createTestCtx(database.db)
  const { id: pipelineId, stages } = await createTestPipeline(ctx)
  const model = createDealModel()
  model.pipelines.set(pipelineId, [...stages])
  const contactIds: ContactId[] = []
  for (let n = 0; n < 3; n++) contactIds.push((await createTestContact(ctx)).id)
  for (const id of contactIds) model.contacts.add(id)
  const companyId = newId('cpy')
  await ctx.db.insert(companies).values({ workspaceId: ctx.workspaceId, id: companyId, name: 'Acme' })
  const dealIds: DealId[] = []
  for (const [index, contactId] of contactIds.entries()) {
    for (const status of ['OPEN', 'WON'] as const) {
      const input = { pipelineId, contactId, name: 'named', valueCents: dealIds.length + 1 }
      const { id } = await createTestDeal(ctx, index === 0 ? input : { ...input, companyId })
      const deal = await updateDeal(ctx, id, { status })
      model.deals.set(id, { ...deal, isContactErased: false })
      dealIds.push(id)
    }
  }
  const change = (name: string, id: DealId, input: DealChange): DealCall => ({
    name,
    call: (ctx) => updateDeal(ctx, id, input),
    apply: (model) => updateModelDeal(model, id, input as Partial<ModelDeal>),
  })
  const kinds: ((name: string) => DealCall)[] = [
    (name) => change(`win-${name}`, pick(choices, dealIds), { status: 'WON' }),
    (name) => change(`lose-${name}`, pick(choices, dealIds), { status: 'LOST', lostReason: 'Price' }),
    (name) => change(`reopen-${name}`, pick(choices, dealIds), { status: 'OPEN' }),
    (name) => change(`advance-${name}`, pick(choices, dealIds), { stageId: stages[1]?.id ?? newId('stg') }),
    (name) => change(`give-${name}`, pick(choices, dealIds), { contactId: pick(choices, contactIds) }),
    (name) => {
      const [to, from] = [pick(choices, contactIds), pick(choices, contactIds)]
      return {
        name: `merge-${name}`,
        call: (ctx) => mergeContacts(ctx, to, { contactId: from }),
        apply: (model) => mergeModelContacts(model, to, from),
      }
    },
    (name) => {
      const id = pick(choices, contactIds)
      return {
        name: `erase-${name}`,
        call: (ctx) => deleteContact(ctx, id),
        apply: (model) => deleteModelContact(model, id),
      }
    },
  ]
  const calls = Array.from({ length: 10 }, (_, number) => pick(choices, kinds)(String(number)))
  return {
    ctx,
    calls,
    isRecoveredAtOnce: false,
    finish: async () => {},
    async check(_world, trace) {
      const committedAt = ({ name }: DealCall) => {
        const row = Math.max(trace.findLastIndex(isCommitOf(name)), trace.findLastIndex(isLateCommitOf(name)))
        return hasChanged(name, trace.slice(0, row)) ? row : -1
      }
      const committed = calls.filter((call) => committedAt(call) >= 0)
      // PostgreSQL commits them in this order, and their locks make it the order of their changes.
      for (const call of committed.toSorted((a, b) => committedAt(a) - committedAt(b))) applyIfValid(call, model)
      return await findDifferences(ctx, model)
    },
  }
}

/** Whether the last transaction of a call wrote. One that finds its deal with another contact ends, and begins again. */
function hasChanged(call: string, trace: readonly TraceEntry[]): boolean {
  const ofCall = trace.filter(({ who }) => who.includes(` ${call} `)).map(({ what }) => what)
  return ofCall.lastIndexOf('emit events') > ofCall.lastIndexOf('begin')
}

function applyIfValid(call: DealCall, model: DealModel): void {
  try {
    call.apply(model)
  } catch (error) {
    if (!(error instanceof ModelRejection)) throw error
  }
}

async function findDifferences(ctx: Ctx, model: DealModel): Promise<string[]> {
  const { data } = await listDeals(ctx, DealQuery.parse({ limit: '100' }))
  const real = new Map(data.map((row) => [row.id, { ...row, isContactErased: row.contactErasedAt !== null }]))
  return [...new Set([...real.keys(), ...model.deals.keys()])].flatMap((id) => {
    const [stored, expected] = [describe(real.get(id)), describe(model.deals.get(id))]
    return stored === expected ? [] : [`deal ${id} is ${stored}, but should be ${expected}`]
  })
}

function describe(deal: ModelDeal | undefined): string {
  if (!deal) return 'gone'
  const { status, valueCents, name, stageId, contactId, companyId, lostReason, isContactErased } = deal
  return JSON.stringify({ status, valueCents, name, stageId, contactId, companyId, lostReason, isContactErased })
}
