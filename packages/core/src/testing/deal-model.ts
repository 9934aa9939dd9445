/** What deals do, as plain as it can be said: no database, no locks. The real thing is compared with it. */

export type Status = 'OPEN' | 'WON' | 'LOST'

export interface ModelDeal {
  pipelineId: string
  stageId: string
  contactId: string
  name: string
  valueCents: number
  status: Status
}
export interface ModelStage {
  id: string
  winProbability: number
}
type Place = Pick<ModelDeal, 'pipelineId' | 'stageId' | 'status'>

/** Refused: by the name of the field, or by why. */
export class Refused extends Error {}

export interface DealModel {
  readonly contacts: Set<string>
  readonly pipelines: Map<string, ModelStage[]>
  readonly deals: Map<string, ModelDeal>
  /** By deal, oldest first. */
  readonly moves: Map<string, { from: Place; to: Place }[]>
  /** The types of the events of deals, oldest first. */
  readonly told: string[]
}

export function emptyModel(): DealModel {
  return { contacts: new Set(), pipelines: new Map(), deals: new Map(), moves: new Map(), told: [] }
}

type Wish = Partial<Record<'pipelineId' | 'stageId' | 'contactId' | 'name', string>> & {
  valueCents?: number
  status?: Status
}

/** The deal that a creation makes; it has no id yet. */
export function modelCreation(model: DealModel, wish: Wish & { pipelineId: string; contactId: string }): ModelDeal {
  const stageId = stageFor(model, wish.pipelineId, wish.stageId)
  if (!model.contacts.has(wish.contactId)) throw new Refused('contactId')
  const { pipelineId, contactId, name = '', valueCents = 0 } = wish
  return { pipelineId, stageId, contactId, name, valueCents, status: 'OPEN' }
}

export function modelChange(model: DealModel, id: string, wish: Wish): void {
  const before = find(model.deals, id)
  const after: ModelDeal = { ...before, ...wish, stageId: before.stageId }
  if (after.pipelineId !== before.pipelineId) after.stageId = stageFor(model, after.pipelineId, wish.stageId)
  else if (wish.stageId) after.stageId = stageFor(model, after.pipelineId, wish.stageId)
  if (!model.contacts.has(after.contactId)) throw new Refused('contactId')
  model.deals.set(id, after)

  const differs = (key: keyof ModelDeal) => before[key] !== after[key]
  const isReopened = differs('status') && after.status === 'OPEN'
  if (differs('name') || differs('valueCents') || differs('contactId') || isReopened) model.told.push('deal.updated')
  if (differs('stageId')) model.told.push('deal.stage_changed')
  if (differs('status') && after.status === 'WON') model.told.push('deal.won')
  if (differs('status') && after.status === 'LOST') model.told.push('deal.lost')
  if (differs('stageId') || differs('status')) {
    model.moves.set(id, [...(model.moves.get(id) ?? []), { from: placeOf(before), to: placeOf(after) }])
  }
}

export function modelDeletion(model: DealModel, id: string): void {
  find(model.deals, id)
  model.deals.delete(id)
  model.told.push('deal.deleted')
}

export function modelContactDeletion(model: DealModel, contactId: string): void {
  if (!model.contacts.delete(contactId)) throw new Refused('not found')
  for (const [id, deal] of model.deals) if (deal.contactId === contactId) model.deals.delete(id)
}

export function modelMerge(model: DealModel, survivor: string, duplicate: string): void {
  if (survivor === duplicate) throw new Refused('contactId')
  if (!model.contacts.has(survivor)) throw new Refused('not found')
  if (!model.contacts.delete(duplicate)) throw new Refused('contactId')
  for (const deal of model.deals.values()) if (deal.contactId === duplicate) deal.contactId = survivor
}

/** `stages` are all there are to be. */
export function modelStages(model: DealModel, pipelineId: string, stages: ModelStage[]): void {
  const gone = find(model.pipelines, pipelineId).filter((stage) => !stages.some(({ id }) => id === stage.id))
  refuseInUse(model, (deal) => gone.some(({ id }) => id === deal.stageId))
  model.pipelines.set(pipelineId, stages)
}

export function modelPipelineDeletion(model: DealModel, pipelineId: string): void {
  find(model.pipelines, pipelineId)
  refuseInUse(model, (deal) => deal.pipelineId === pipelineId)
  model.pipelines.delete(pipelineId)
}

export function modelSummary(model: DealModel, pipelineId: string) {
  const stages = (model.pipelines.get(pipelineId) ?? []).map(({ id, winProbability }) => {
    const open = [...model.deals.values()].filter((deal) => deal.stageId === id && deal.status === 'OPEN')
    const cents = open.reduce((sum, deal) => sum + BigInt(deal.valueCents), 0n)
    return { stageId: id, count: open.length, cents, percents: cents * BigInt(winProbability) }
  })
  const percents = stages.reduce((sum, stage) => sum + stage.percents, 0n)
  return {
    stages: stages.map(({ stageId, count, cents }) => ({ stageId, count, valueCentsExact: String(cents) })),
    weightedValueCentsExact: String((percents + 50n) / 100n),
  }
}

function stageFor(model: DealModel, pipelineId: string, stageId: string | undefined): string {
  const stages = model.pipelines.get(pipelineId)
  if (!stages) throw new Refused('pipelineId')
  const stage = stageId ? stages.find(({ id }) => id === stageId) : stages[0]
  if (!stage) throw new Refused('stageId')
  return stage.id
}

function refuseInUse(model: DealModel, uses: (deal: ModelDeal) => boolean) {
  const count = [...model.deals.values()].filter(uses).length
  if (count > 0) throw new Refused(`in use by ${count}`)
}

function find<Value>(values: Map<string, Value>, id: string): Value {
  const value = values.get(id)
  if (!value) throw new Refused('not found')
  return value
}

const placeOf = ({ pipelineId, stageId, status }: ModelDeal): Place => ({ pipelineId, stageId, status })
