import { beforeEach, describe, expect, test } from 'vitest'
import { updateDeal, deleteDeal, readDeal } from '../deals/update-deal.ts'
import { newId, type StageId } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestCtx, createTestDeal, createTestPipeline } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { summarizePipeline } from './pipeline-summary.ts'
import { updatePipeline, deletePipeline, readPipeline } from './pipelines.ts'
import { type Pipeline, PipelineChange } from './pipelines.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let pipeline: Pipeline
beforeEach(async () => {
  pipeline = await createTestPipeline(ctx, ['a', 'b', 'c'])
})

function stageIds(): [StageId, StageId, StageId] {
  const [a, b, c] = pipeline.stages
  if (!a || !b || !c) throw new Error('The pipeline has fewer than three stages')
  return [a.id, b.id, c.id]
}
const change = (input: unknown) => updatePipeline(ctx, pipeline.id, PipelineChange.parse(input))
const names = ({ stages }: Pipeline) => stages.map(({ name, position }) => `${position} ${name}`).join(', ')

describe('updating the stages of a pipeline', () => {
  test('reorders, removes and adds stages in one request', async () => {
    const [a, b, c] = stageIds()
    const changed = await change({ stages: [{ id: c }, { name: 'new', winProbability: 5 }, { id: a, name: 'A' }] })
    expect(names(changed)).toBe('0 c, 1 new, 2 A')
    expect(changed.stages.map(({ id }) => id)).toEqual([c, expect.stringMatching(/^stg_/), a])
    expect(changed.stages.map(({ winProbability }) => winProbability)).toEqual([30, 5, 10])
    expect(await readPipeline(ctx, pipeline.id)).toEqual(changed)
    expect(changed.stages.map(({ id }) => id)).not.toContain(b)
  })

  test.each([[[2, 1, 0]], [[1, 2, 0]], [[0, 2, 1]], [[2]]])('puts the stages into the order %j', async (order) => {
    const changed = await change({ stages: order.map((at) => ({ id: stageIds()[at] })) })
    expect(changed.stages.map(({ id }) => id)).toEqual(order.map((at) => stageIds()[at]))
    expect(changed.stages.map(({ position }) => position)).toEqual(order.map((_, position) => position))
  })

  test('keeps the stages when only the name changes, and a no-op changes nothing', async () => {
    expect(await change({ name: 'Renewals' })).toMatchObject({ name: 'Renewals', stages: pipeline.stages })
    const before = await readPipeline(ctx, pipeline.id)
    expect(await change({ name: 'Renewals', stages: stageIds().map((id) => ({ id })) })).toEqual(before)
    expect(await change({})).toEqual(before)
  })

  test('rejects unknown stages and stages of another pipeline', async () => {
    const other = await createTestPipeline(ctx)
    for (const id of [other.stages[0]?.id, newId('stg')]) {
      await expect(change({ stages: [{ id: stageIds()[0] }, { id }] })).rejects.toMatchObject({
        code: 'validation_error',
        issues: [{ path: 'stages.1.id', message: 'Stage not found' }],
      })
    }
    expect(await readPipeline(ctx, pipeline.id)).toEqual(pipeline)
  })
})

describe('removing stages and pipelines', () => {
  test('is rejected with the number of deals they contain', async () => {
    const [, b, c] = stageIds()
    const inA = await createTestDeal(ctx, { pipelineId: pipeline.id })
    const inB = await createTestDeal(ctx, { pipelineId: pipeline.id, stageId: b })
    await updateDeal(ctx, inB.id, { status: 'LOST' })
    const removals: [unknown, number][] = [
      [{ stages: [{ id: b }, { id: c }] }, 1],
      [{ stages: [{ id: c }] }, 2],
    ]
    for (const [input, dealCount] of removals) {
      await expect(change(input)).rejects.toMatchObject({ code: 'in_use', details: { dealCount } })
    }
    await expect(deletePipeline(ctx, pipeline.id)).rejects.toMatchObject({
      message: '"a", "b" still have 2 deals: move them first',
    })
    expect(await readPipeline(ctx, pipeline.id)).toEqual(pipeline)
    await updateDeal(ctx, inA.id, { stageId: b })
    expect(names(await change({ stages: [{ id: b }] }))).toBe('0 b')
    await deleteDeal(ctx, inA.id)
    await deleteDeal(ctx, inB.id)
    await deletePipeline(ctx, pipeline.id)
    await expect(readPipeline(ctx, pipeline.id)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('creates a concurrent deal in the new first stage', async () => {
    const [, b] = stageIds()
    const removing = await openTransaction(ctx.db, (db) =>
      updatePipeline({ ...ctx, db }, pipeline.id, { stages: [{ id: b }] }),
    )
    const creating = createTestDeal(ctx, { pipelineId: pipeline.id })
    await waitUntilBlocked(database.db)
    const [, deal] = await Promise.all([removing.commit(), creating])
    expect(deal.stageId).toBe(b)
  })

  test('rejects concurrent deals that name the removed stage', async () => {
    const [a, b] = stageIds()
    const deal = await createTestDeal(ctx, { pipelineId: pipeline.id, stageId: b })
    const removing = await openTransaction(ctx.db, (db) =>
      updatePipeline({ ...ctx, db }, pipeline.id, { stages: [{ id: b }] }),
    )
    const requests = [
      createTestDeal(ctx, { pipelineId: pipeline.id, stageId: a }),
      updateDeal(ctx, deal.id, { stageId: a }),
    ]
    const results = Promise.allSettled(requests)
    await waitUntilBlocked(database.db, 2)
    await removing.commit()
    for (const result of await results) {
      expect(result).toMatchObject({ reason: { issues: [{ path: 'stageId' }] } })
    }
    expect(await readDeal(ctx, deal.id)).toEqual(deal)
  })

  test('rejects a concurrent deal in the deleted pipeline', async () => {
    const deleting = await openTransaction(ctx.db, (db) => deletePipeline({ ...ctx, db }, pipeline.id))
    const creating = Promise.allSettled([createTestDeal(ctx, { pipelineId: pipeline.id })])
    await waitUntilBlocked(database.db)
    await deleting.commit()
    expect(await creating).toMatchObject([
      { reason: { issues: [{ path: 'pipelineId', message: 'Pipeline not found' }] } },
    ])
  })

  test('waits for a concurrent deal and is rejected because of it', async () => {
    const [a, b] = stageIds()
    const creating = await openTransaction(ctx.db, (db) =>
      createTestDeal({ ...ctx, db }, { pipelineId: pipeline.id, stageId: a }),
    )
    const removing = Promise.allSettled([change({ stages: [{ id: b }] })])
    await waitUntilBlocked(database.db)
    await creating.commit()
    expect(await removing).toMatchObject([{ reason: { message: '"a" still has a deal: move it first' } }])
  })

  test('is not undone by a concurrent reordering', async () => {
    const [a, b, c] = stageIds().map((id) => ({ id }))
    const removing = await openTransaction(ctx.db, (db) =>
      updatePipeline({ ...ctx, db }, pipeline.id, PipelineChange.parse({ stages: [a, b] })),
    )
    const reordering = Promise.allSettled([change({ stages: [c, b, a] })])
    await waitUntilBlocked(database.db)
    await removing.commit()
    expect(await reordering).toMatchObject([{ reason: { issues: [{ path: 'stages.0.id' }] } }])
  })

  test('applies concurrent reorderings completely, one after the other', async () => {
    const orders = Array.from({ length: 10 }, (_, n) => stageIds().map((_id, at) => ({ id: stageIds()[(at + n) % 3] })))
    const results = await Promise.all(orders.map((stages) => change({ stages })))
    const last = await readPipeline(ctx, pipeline.id)
    expect(last.stages.map(({ position }) => position)).toEqual([0, 1, 2])
    expect(results.map(names)).toContain(names(last))
  })
})

describe('the summary of a pipeline', () => {
  const total = async () => (await summarizePipeline(ctx, pipeline.id)).total

  test('counts and sums OPEN deals per stage and in total', async () => {
    const [a, b, c] = stageIds()
    for (const [stageId, valueCents] of [
      [a, 100],
      [a, 50],
      [c, 1_000],
    ] as const)
      await createTestDeal(ctx, { pipelineId: pipeline.id, stageId, valueCents })
    const won = await createTestDeal(ctx, { pipelineId: pipeline.id, stageId: b, valueCents: 7 })
    await updateDeal(ctx, won.id, { status: 'WON' })
    await createTestDeal(ctx, { valueCents: 99 })
    expect(await summarizePipeline(ctx, pipeline.id)).toEqual({
      pipelineId: pipeline.id,
      stages: [
        { stageId: a, count: 2, valueCents: 150, valueCentsExact: '150' },
        { stageId: b, count: 0, valueCents: 0, valueCentsExact: '0' },
        { stageId: c, count: 1, valueCents: 1_000, valueCentsExact: '1000' },
      ],
      total: {
        count: 3,
        valueCents: 1_150,
        valueCentsExact: '1150',
        weightedValueCents: 315,
        weightedValueCentsExact: '315',
      },
      won: { count: 1, valueCents: 7, valueCentsExact: '7' },
      lost: { count: 0, valueCents: 0, valueCentsExact: '0' },
      lostReasons: [],
    })
  })

  test('is exact in digits above 2^53-1, where the number is null', async () => {
    const most = Number.MAX_SAFE_INTEGER
    await createTestDeal(ctx, { pipelineId: pipeline.id, valueCents: most })
    expect(await total()).toMatchObject({ valueCents: most, valueCentsExact: String(most) })
    await createTestDeal(ctx, { pipelineId: pipeline.id, valueCents: 1 })
    expect(await total()).toMatchObject({ valueCents: null, valueCentsExact: '9007199254740992' })
    await createTestDeal(ctx, { pipelineId: pipeline.id, valueCents: 1 })
    expect(await total()).toMatchObject({ valueCents: null, valueCentsExact: '9007199254740993' })
    expect(await total()).toMatchObject({ weightedValueCents: 900_719_925_474_099, count: 3 })
  })

  test('is rounded once, in the total', async () => {
    for (let n = 0; n < 3; n++) await createTestDeal(ctx, { pipelineId: pipeline.id, valueCents: 5 })
    expect(await total()).toMatchObject({ weightedValueCents: 2 })
  })

  test('counts each deal once while deals move', async () => {
    const [a, b] = stageIds()
    const made = []
    for (let n = 0; n < 4; n++) made.push(await createTestDeal(ctx, { pipelineId: pipeline.id, valueCents: 10 }))
    const moving = made.map(async ({ id }) => {
      for (let n = 0; n < 8; n++) await updateDeal(ctx, id, { stageId: n % 2 ? a : b })
    })
    const reading = Array.from({ length: 30 }, async () => expect(await total()).toMatchObject({ count: 4 }))
    await Promise.all([...moving, ...reading])
  })

  test('throws not_found for an unknown pipeline', async () => {
    const other = await createTestCtx(database.db)
    await expect(summarizePipeline(other, pipeline.id)).rejects.toMatchObject({ message: 'Pipeline not found' })
  })
})
