/** Random sequences of operations on deals, compared with a plain model. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Ctx } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import { type CompanyId, type ContactId, type DealId, newId, type PipelineId, type StageId } from '../kernel/ids.ts'
import { companies } from '../db/schema/index.ts'
import { summarizePipeline } from '../pipelines/pipeline-summary.ts'
import { updatePipeline, deletePipeline, readPipeline } from '../pipelines/pipelines.ts'
import {
  type DealModel,
  createDealModel,
  updateModelDeal,
  deleteModelContact,
  buildModelDeal,
  deleteModelDeal,
  mergeModelContacts,
  deleteModelPipeline,
  replaceModelStages,
  summarizeModelPipeline,
  ModelRejection,
} from '@rapport/testing/fixtures/deal-model.ts'
import {
  createTestContact,
  createTestCtx,
  createTestPipeline,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { listDealMoves } from './list-deal-moves.ts'
import { listDeals } from './list-deals.ts'
import { createDeal } from './create-deal.ts'
import { updateDeal, deleteDeal } from './update-deal.ts'
import { type Deal, DealChange, DealInput, DealMoveQuery, DealQuery } from './deals.schema.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'

const database = useTestDatabase()

/** The workspace, the model and every id ever created: steps also use ids of deleted records. */
interface World {
  ctx: Ctx
  model: DealModel
  contactIds: ContactId[]
  companyIds: CompanyId[]
  pipelineIds: PipelineId[]
  stageIds: StageId[]
  dealIds: DealId[]
}

const pick = fc.nat({ max: 20 })
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const cents = fc.oneof(fc.nat({ max: 3 }), fc.maxSafeNat())
const date = fc.constantFrom('2026-12-31', '0001-01-01')
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      pipeline: pick,
      stage: maybe(pick),
      contact: pick,
      company: fc.option(pick),
      cents,
      expected: maybe(date),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      deal: pick,
      pipeline: maybe(pick),
      stage: maybe(pick),
      contact: maybe(pick),
      company: maybe(fc.option(pick)),
      name: maybe(fc.constantFrom('a', 'b')),
      valueCents: maybe(cents),
      status: maybe(fc.constantFrom('OPEN' as const, 'WON' as const, 'LOST' as const)),
      lostReason: fc.option(fc.constantFrom('price', null), { freq: 1, nil: undefined }),
      expectedCloseOn: maybe(fc.option(date)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), deal: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deleteContact' as const), contact: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('merge' as const), survivor: pick, duplicate: pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('stages' as const),
      pipeline: pick,
      order: fc.uniqueArray(fc.nat({ max: 4 })),
      added: fc.nat({ max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deletePipeline' as const), pipeline: pick }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

function at<Id>(ids: readonly Id[], index: number): Id {
  const id = ids[index % ids.length]
  if (id === undefined) throw new Error('There is no id to choose from')
  return id
}
const atIfAny = <Id>(ids: readonly Id[], index: number | undefined) =>
  index === undefined ? undefined : at(ids, index)
const companyAt = ({ companyIds }: World, index: number | null | undefined) =>
  typeof index === 'number' ? at(companyIds, index) : index
const omitUndefined = <T extends object>(input: T) =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as T

/** Returns the operation of a step and its counterpart in the model. Either may reject the step. */
function perform(world: World, action: Step): { real: () => Promise<unknown>; model: (made: unknown) => void } {
  const { ctx, model } = world
  switch (action.do) {
    case 'create': {
      const input = omitUndefined({
        pipelineId: at(world.pipelineIds, action.pipeline),
        stageId: atIfAny(world.stageIds, action.stage),
        contactId: at(world.contactIds, action.contact),
        companyId: companyAt(world, action.company),
        valueCents: action.cents,
        expectedCloseOn: action.expected,
      })
      return {
        real: () => createDeal(ctx, DealInput.parse(input)),
        model: (made) => {
          const deal = buildModelDeal(model, input as never)
          const { id } = (made ?? { id: newId('dea') }) as Pick<Deal, 'id'>
          model.deals.set(id, deal)
          model.eventTypes.push('deal.created')
          world.dealIds.push(id)
        },
      }
    }
    case 'change': {
      const id = at(world.dealIds, action.deal)
      const { name, valueCents, status, lostReason, expectedCloseOn } = action
      const input = omitUndefined({
        pipelineId: atIfAny(world.pipelineIds, action.pipeline),
        stageId: atIfAny(world.stageIds, action.stage),
        contactId: atIfAny(world.contactIds, action.contact),
        companyId: companyAt(world, action.company),
        name,
        valueCents,
        status,
        lostReason,
        expectedCloseOn,
      })
      return {
        real: () => updateDeal(ctx, id, DealChange.parse(input)),
        model: () => updateModelDeal(model, id, input as never),
      }
    }
    case 'delete': {
      const id = at(world.dealIds, action.deal)
      return { real: () => deleteDeal(ctx, id), model: () => deleteModelDeal(model, id) }
    }
    case 'deleteContact': {
      const id = at(world.contactIds, action.contact)
      return { real: () => deleteContact(ctx, id), model: () => deleteModelContact(model, id) }
    }
    case 'merge': {
      const [to, from] = [at(world.contactIds, action.survivor), at(world.contactIds, action.duplicate)]
      return {
        real: () => mergeContacts(ctx, to, { contactId: from }),
        model: () => mergeModelContacts(model, to, from),
      }
    }
    case 'stages': {
      const id = at(world.pipelineIds, action.pipeline)
      const current = model.pipelines.get(id) ?? []
      const kept = action.order.flatMap((index) => current[index] ?? [])
      const added = Array.from({ length: action.added }, () => ({ name: 'new', winProbability: 7 }))
      const stages = [...kept.map((stage) => ({ id: stage.id })), ...added]
      if (stages.length === 0) return { real: async () => {}, model: () => {} }
      return {
        real: () => updatePipeline(ctx, id, { stages }),
        model: (made) => {
          const real = (made as Awaited<ReturnType<typeof readPipeline>> | undefined)?.stages ?? []
          const fresh = real.slice(kept.length).map((stage) => ({ id: stage.id, winProbability: 7 }))
          replaceModelStages(model, id, [...kept, ...fresh])
          world.stageIds.push(...fresh.map((stage) => stage.id))
        },
      }
    }
    case 'deletePipeline': {
      const id = at(world.pipelineIds, action.pipeline)
      return { real: () => deletePipeline(ctx, id), model: () => deleteModelPipeline(model, id) }
    }
  }
}

async function runStep(world: World, action: Step) {
  if ('deal' in action && world.dealIds.length === 0) return
  const { real, model } = perform(world, action)
  const [made, outcome] = await real().then(
    (result) => [result, 'accepted'],
    (error: unknown) => [undefined, reasonOf(error)],
  )
  let expected = 'accepted'
  try {
    model(made)
  } catch (error) {
    if (!(error instanceof ModelRejection)) throw error
    expected = error.message
  }
  expect([action, outcome]).toEqual([action, expected])
}

function reasonOf(error: unknown): string {
  if (!(error instanceof AppError)) return String(error)
  if (error.code === 'not_found') return 'not found'
  return error.issues?.[0]?.path ?? `in use by ${String(error.details?.['dealCount'])}`
}

async function expectSameState({ ctx, model }: World) {
  const deals = (await listDeals(ctx, DealQuery.parse({ limit: '100', sort: 'createdAt' }))).data
  const real = deals.map(
    ({ id, createdAt: _created, updatedAt: _updated, closedAt, ownerId: _owner, contactErasedAt, ...shown }) => {
      const { customFieldValues: _values, ...deal } = shown
      expect([id, closedAt === null]).toEqual([id, deal.status === 'OPEN'])
      return [id, { ...deal, isContactErased: contactErasedAt !== null }] as const
    },
  )
  expect(new Map(real)).toEqual(model.deals)
  for (const id of model.deals.keys()) {
    const { data } = await listDealMoves(ctx, id, DealMoveQuery.parse({ limit: '100', sort: 'createdAt' }))
    expect(data.map(({ from, to }) => ({ from, to }))).toEqual(model.moves.get(id) ?? [])
  }
  for (const [id, stages] of model.pipelines) {
    const real = await readPipeline(ctx, id)
    expect(real.stages.map((stage) => [stage.id, stage.position])).toEqual(stages.map((stage, n) => [stage.id, n]))
    const [summary, expected] = [await summarizePipeline(ctx, id), summarizeModelPipeline(model, id)]
    expect(summary.stages).toMatchObject(expected.stages)
    expect(summary.total.weightedValueCentsExact).toBe(expected.weightedValueCentsExact)
  }
  expect((await listEventTypes(ctx)).filter((type) => type.startsWith('deal.'))).toEqual(model.eventTypes)
}

const seed = chooseSeed(20_261_125)

test(`random operations leave the deals that the model predicts (seed ${seed})`, async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    const world = await createWorld()
    for (const action of steps) await runStep(world, action)
    await expectSameState(world)
  })
  await fc.assert(property, { seed, numRuns: countRuns({ gate: 12, full: 500 }) })
})

async function createWorld(): Promise<World> {
  const ctx = await createTestCtx(database.db)
  const model = createDealModel()
  const contacts = [await createTestContact(ctx), await createTestContact(ctx), await createTestContact(ctx)]
  const pipelines = [await createTestPipeline(ctx, ['a', 'b', 'c']), await createTestPipeline(ctx)]
  const companyIds = [newId('cpy'), newId('cpy')]
  await ctx.db.insert(companies).values(companyIds.map((id) => ({ workspaceId: ctx.workspaceId, id, name: 'Acme' })))
  for (const { id } of contacts) model.contacts.add(id)
  for (const id of companyIds) model.companies.add(id)
  for (const { id, stages } of pipelines) {
    model.pipelines.set(
      id,
      stages.map((stage) => ({ id: stage.id, winProbability: stage.winProbability })),
    )
  }
  return {
    ctx,
    model,
    contactIds: contacts.map(({ id }) => id),
    // The last one does not exist.
    companyIds: [...companyIds, newId('cpy')],
    pipelineIds: pipelines.map(({ id }) => id),
    stageIds: pipelines.flatMap(({ stages }) => stages.map(({ id }) => id)),
    dealIds: [],
  }
}
