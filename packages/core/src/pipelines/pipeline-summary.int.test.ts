import { beforeEach, expect, test } from 'vitest'
import { updateDeal } from '../deals/update-deal.ts'
import type { DealChange, DealInput } from '../deals/deals.schema.ts'
import type { PipelineId, UserId } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { createTestDeal, createTestMember, createTestPipeline } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { summarizePipeline } from './pipeline-summary.ts'
import { maxLostReasons, PipelineSummaryQuery } from './pipelines.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let pipelineId: PipelineId
let owner: UserId
beforeEach(async () => {
  pipelineId = (await createTestPipeline(ctx, ['a', 'b'])).id
  owner = await createTestMember(ctx)
})

const summarize = (query: Record<string, string> = {}) =>
  summarizePipeline(ctx, pipelineId, PipelineSummaryQuery.parse(query))

async function make(valueCents: number, input: Partial<DealInput> = {}, change: DealChange = {}) {
  const { id } = await createTestDeal(ctx, { pipelineId, valueCents, ...input })
  return await updateDeal(ctx, id, change)
}

const sums = (count: number, valueCents: number) => ({ count, valueCents, valueCentsExact: String(valueCents) })

test('a summary has what was won and lost, by reason, also of erased people', async () => {
  await make(1)
  const won = await make(20, {}, { status: 'WON' })
  await make(30, {}, { status: 'WON' })
  await make(4, {}, { status: 'LOST', lostReason: 'Price' })
  await make(5, {}, { status: 'LOST', lostReason: 'Time' })
  const lost = await make(6, {}, { status: 'LOST', lostReason: 'Price' })
  await make(7, {}, { status: 'LOST' })
  await createTestDeal(ctx, { valueCents: 99 })
  const before = await summarize()
  expect(before).toMatchObject({
    total: sums(1, 1),
    won: sums(2, 50),
    lost: sums(4, 22),
    lostReasons: [
      { lostReason: 'Price', ...sums(2, 10) },
      { lostReason: 'Time', ...sums(1, 5) },
      { lostReason: null, ...sums(1, 7) },
    ],
  })
  for (const { contactId } of [won, lost]) await deleteContact(ctx, contactId)
  expect(await summarize()).toEqual(before)
})

test('a summary of an owner has their deals alone', async () => {
  await make(1)
  await make(2, { ownerId: owner })
  await make(30, {}, { status: 'WON' })
  await make(40, { ownerId: owner }, { status: 'WON' })
  expect(await summarize({ ownerId: owner })).toMatchObject({
    total: sums(1, 2),
    won: sums(1, 40),
    lost: sums(0, 0),
    lostReasons: [],
  })
})

test('a range of dates selects what is expected to close, and another what was closed', async () => {
  await make(1)
  await make(2, { expectedCloseOn: '2026-12-01' })
  await make(4, { expectedCloseOn: '2027-01-01' })
  const { closedAt } = await make(8, { expectedCloseOn: '2020-01-01' }, { status: 'WON' })
  const december = { expectedCloseAfter: '2026-12-01', expectedCloseBefore: '2027-01-01' }
  expect(await summarize(december)).toMatchObject({ total: sums(1, 2), won: sums(1, 8) })
  expect(await summarize({ closedAfter: closedAt ?? '' })).toMatchObject({ total: sums(3, 7), won: sums(1, 8) })
  expect(await summarize({ closedBefore: closedAt ?? '' })).toMatchObject({ total: sums(3, 7), won: sums(0, 0) })
})

test('the reasons are the most frequent ones, and the sum is of all', async () => {
  for (let n = 0; n <= maxLostReasons; n++) await make(1, {}, { status: 'LOST', lostReason: `reason ${n}` })
  await make(1, {}, { status: 'LOST', lostReason: `reason ${maxLostReasons}` })
  const { lost, lostReasons } = await summarize()
  expect([lost.count, lostReasons.length]).toEqual([maxLostReasons + 2, maxLostReasons])
  expect(lostReasons[0]).toEqual({ lostReason: `reason ${maxLostReasons}`, ...sums(2, 2) })
})
