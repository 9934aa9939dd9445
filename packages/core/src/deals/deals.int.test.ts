import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { listActivity } from '../contacts/list-activity.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { ActivityQuery } from '../events/activity.ts'
import type { Ctx } from '../request/context.ts'
import { newId } from '../kernel/ids.ts'
import type { Pipeline } from '../pipelines/pipelines.schema.ts'
import { contacts, dealMoves, events } from '../db/schema/index.ts'
import { openTransaction, openUnrepeated, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestPipeline,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { listDealMoves } from './list-deal-moves.ts'
import { createDeal } from './create-deal.ts'
import { updateDeal, deleteDeal, readDeal } from './update-deal.ts'
import { type Deal, type DealChange, DealInput, DealMoveQuery } from './deals.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let pipeline: Pipeline
let deal: Deal
beforeEach(async () => {
  pipeline = await createTestPipeline(ctx, ['a', 'b', 'c'])
  deal = await createTestDeal(ctx, { pipelineId: pipeline.id, name: 'Engine' })
})

const stageAt = (position: number, { stages }: Pipeline = pipeline) => stages[position]?.id ?? newId('stg')
const movesOf = async (id = deal.id) => (await listDealMoves(ctx, id, DealMoveQuery.parse({}))).data
/** The types of the events of the deal since its creation. */
const listDealEventTypes = async () => (await listEventTypes(ctx)).filter((type) => type.startsWith('deal.')).slice(1)
const readEventData = async (type: string) => {
  const rows = await ctx.db
    .select()
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, type)))
  return rows.map(({ data }) => data)
}
/** Moves the last activity of every contact to a day ago. */
const backdateActivity = () =>
  ctx.db
    .update(contacts)
    .set({ lastActivityAt: sql`now() - interval '1 day'` })
    .where(eq(contacts.workspaceId, ctx.workspaceId))
const lastActivity = async (id = deal.contactId) => Date.parse((await readContact(ctx, id)).lastActivityAt ?? '')

test('a deal starts OPEN, in the first stage by default', async () => {
  expect(deal).toMatchObject({ stageId: stageAt(0), status: 'OPEN', closedAt: null, valueCents: 0 })
  const second = await createTestDeal(ctx, { pipelineId: pipeline.id, stageId: stageAt(1) })
  expect(second.stageId).toBe(stageAt(1))
  expect(await readEventData('deal.created')).toEqual([deal, second])
})

test('rejects an unknown pipeline, contact or stage and names the field', async () => {
  const { contactId } = deal
  const other = await createTestPipeline(ctx)
  const cases = [
    [{ pipelineId: newId('pip'), contactId }, 'pipelineId', 'Pipeline not found'],
    [{ pipelineId: pipeline.id, contactId: newId('con') }, 'contactId', 'Contact not found'],
    [{ pipelineId: pipeline.id, contactId, stageId: newId('stg') }, 'stageId', 'Stage not found in this pipeline'],
    [{ pipelineId: pipeline.id, contactId, stageId: stageAt(0, other) }, 'stageId', 'Stage not found in this pipeline'],
  ] as const
  for (const [fields, path, message] of cases) {
    await expect(createDeal(ctx, DealInput.parse(fields))).rejects.toMatchObject({
      code: 'validation_error',
      issues: [{ path, message }],
    })
  }
  expect(await listDealEventTypes()).toEqual([])
})

describe('updating a deal', () => {
  test.each([
    ['a new name', { name: 'Analytical engine' }, ['deal.updated']],
    ['a new value', { valueCents: Number.MAX_SAFE_INTEGER }, ['deal.updated']],
    ['a win', { status: 'WON' }, ['deal.won']],
    ['a loss', { status: 'LOST' }, ['deal.lost']],
    ['a win at a new value', { status: 'WON', valueCents: 1 }, ['deal.updated', 'deal.won']],
    ['no field', {}, []],
    ['the current values', { name: 'Engine', valueCents: 0, status: 'OPEN' }, []],
  ] as [string, DealChange, string[]][])('with %s emits each event once', async (_name, change, types) => {
    const changed = await updateDeal(ctx, deal.id, change)
    expect(changed).toEqual({ ...changed, ...(types.length === 0 ? deal : change) })
    expect(await listDealEventTypes()).toEqual(types)
    expect(await readDeal(ctx, deal.id)).toEqual(changed)
  })

  test('emits the previous stage when the stage changes', async () => {
    const moved = await updateDeal(ctx, deal.id, { stageId: stageAt(2) })
    expect(moved.stageId).toBe(stageAt(2))
    expect(await readEventData('deal.stage_changed')).toEqual([
      { ...moved, previousPipelineId: pipeline.id, previousStageId: stageAt(0) },
    ])
    expect(await listDealEventTypes()).toEqual(['deal.stage_changed'])
  })

  test('starts in the first stage of another pipeline by default', async () => {
    const other = await createTestPipeline(ctx)
    const first = await updateDeal(ctx, deal.id, { pipelineId: other.id })
    expect(first).toMatchObject({ pipelineId: other.id, stageId: stageAt(0, other) })
    const back = await updateDeal(ctx, deal.id, { pipelineId: pipeline.id, stageId: stageAt(1) })
    expect(back).toMatchObject({ pipelineId: pipeline.id, stageId: stageAt(1) })
    expect(await updateDeal(ctx, deal.id, { pipelineId: pipeline.id })).toEqual(back)
    expect(await listDealEventTypes()).toEqual(['deal.stage_changed', 'deal.stage_changed'])
  })

  test('rejects a stage that is not in the pipeline', async () => {
    const other = await createTestPipeline(ctx)
    for (const change of [{ stageId: stageAt(0, other) }, { pipelineId: other.id, stageId: stageAt(0) }]) {
      await expect(updateDeal(ctx, deal.id, change)).rejects.toMatchObject({ issues: [{ path: 'stageId' }] })
    }
    expect(await readDeal(ctx, deal.id)).toEqual(deal)
  })

  test('moves the deal to another contact and rejects an unknown contact', async () => {
    const other = await createTestContact(ctx)
    expect(await updateDeal(ctx, deal.id, { contactId: other.id })).toMatchObject({ contactId: other.id })
    expect(await listDealEventTypes()).toEqual(['deal.updated'])
    await expect(updateDeal(ctx, deal.id, { contactId: newId('con') })).rejects.toMatchObject({
      issues: [{ path: 'contactId', message: 'Contact not found' }],
    })
  })
})

describe('closing a deal', () => {
  test('sets closedAt, which reopening clears, and emits one event per change', async () => {
    const won = await updateDeal(ctx, deal.id, { status: 'WON' })
    expect(Date.parse(won.closedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(deal.createdAt))
    expect(await updateDeal(ctx, deal.id, { status: 'WON' })).toEqual(won)
    expect((await updateDeal(ctx, deal.id, { name: 'Paid' })).closedAt).toBe(won.closedAt)
    const lost = await updateDeal(ctx, deal.id, { status: 'LOST' })
    expect(Date.parse(lost.closedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(won.closedAt ?? ''))
    expect((await updateDeal(ctx, deal.id, { status: 'OPEN' })).closedAt).toBeNull()
    expect(await listDealEventTypes()).toEqual(['deal.won', 'deal.updated', 'deal.lost', 'deal.updated'])
  })

  test('emits one event per concurrent change and keeps closedAt consistent', async () => {
    const statuses = Array.from({ length: 30 }, (_, n) => (['WON', 'LOST', 'OPEN'] as const)[n % 3])
    const seen = await Promise.all(statuses.map((status) => updateDeal(ctx, deal.id, status ? { status } : {})))
    for (const { status, closedAt } of [...seen, await readDeal(ctx, deal.id)]) {
      expect([status, closedAt === null]).toEqual([status, status === 'OPEN'])
    }
    const moves = (await movesOf()).toReversed()
    expect(await listDealEventTypes()).toHaveLength(moves.length)
    expect(moves.slice(1).map(({ from }) => from)).toEqual(moves.slice(0, -1).map(({ to }) => to))
  })
})

describe('the activity of a deal', () => {
  test('lists changes of stage or status with their actor, newest first', async () => {
    const user: Ctx = { ...ctx, actor: { kind: 'user', userId: newId('usr'), role: 'MEMBER' } }
    const key: Ctx = { ...ctx, actor: { kind: 'apiKey', apiKeyId: newId('key'), role: 'MEMBER', rights: null } }
    await updateDeal(user, deal.id, { stageId: stageAt(1) })
    await updateDeal(key, deal.id, { stageId: stageAt(2), status: 'WON', name: 'Sold' })
    await updateDeal(user, deal.id, { name: 'Sold twice' })
    await updateDeal(ctx, deal.id, { status: 'OPEN' })
    const at = (position: number, status: string) => ({ pipelineId: pipeline.id, stageId: stageAt(position), status })
    const noActor = { userId: null, apiKeyId: null }
    expect(await movesOf()).toMatchObject([
      { from: at(2, 'WON'), to: at(2, 'OPEN'), ...noActor },
      { from: at(1, 'OPEN'), to: at(2, 'WON'), userId: null, apiKeyId: expect.stringMatching(/^key_/) },
      { from: at(0, 'OPEN'), to: at(1, 'OPEN'), userId: expect.stringMatching(/^usr_/), apiKeyId: null },
    ])
  })

  test('has no gap between concurrent moves', async () => {
    const moving = await openTransaction(ctx.db, (db) => updateDeal({ ...ctx, db }, deal.id, { stageId: stageAt(1) }))
    const second = updateDeal(ctx, deal.id, { stageId: stageAt(2) })
    await waitUntilBlocked(database.db)
    await Promise.all([moving.commit(), second])
    const places = (await movesOf()).toReversed().map(({ from, to }) => [from.stageId, to.stageId])
    expect(places).toEqual([
      [stageAt(0), stageAt(1)],
      [stageAt(1), stageAt(2)],
    ])
    expect((await readDeal(ctx, deal.id)).stageId).toBe(stageAt(2))
  })

  test('belongs to one deal and workspace, and is deleted with the deal', async () => {
    await updateDeal(ctx, deal.id, { status: 'WON' })
    const other = await createTestDeal(ctx, { pipelineId: pipeline.id })
    expect(await movesOf(other.id)).toEqual([])
    await expect(
      listDealMoves(await createTestCtx(database.db), deal.id, DealMoveQuery.parse({})),
    ).rejects.toMatchObject({ code: 'not_found', message: 'Deal not found' })
    await deleteDeal(ctx, deal.id)
    await expect(readDeal(ctx, deal.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(deleteDeal(ctx, deal.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(updateDeal(ctx, deal.id, {})).rejects.toMatchObject({ code: 'not_found' })
    expect(await ctx.db.$count(dealMoves, eq(dealMoves.workspaceId, ctx.workspaceId))).toBe(0)
    expect(await readEventData('deal.deleted')).toMatchObject([{ id: deal.id, status: 'WON' }])
  })
})

describe('the contact of a deal', () => {
  test('has the events of the deal and the time of the last one', async () => {
    for (const happen of [
      () => createTestDeal(ctx, { pipelineId: pipeline.id, contactId: deal.contactId }),
      () => updateDeal(ctx, deal.id, { stageId: stageAt(1) }),
      () => deleteDeal(ctx, deal.id),
    ]) {
      await backdateActivity()
      const before = await lastActivity()
      await happen()
      expect(await lastActivity()).toBeGreaterThan(before)
    }
    const { data } = await listActivity(ctx, deal.contactId, ActivityQuery.parse({}))
    expect(data.map(({ type }) => type)).toEqual([
      'deal.deleted',
      'deal.stage_changed',
      'deal.created',
      'deal.created',
      'contact.created',
    ])
  })

  test('does not change on a no-op update', async () => {
    const before = await readContact(ctx, deal.contactId)
    await updateDeal(ctx, deal.id, { name: 'Engine', stageId: stageAt(0) })
    expect(await readContact(ctx, deal.contactId)).toEqual(before)
  })

  test('deletes its deals with it and emits deal.deleted', async () => {
    await deleteContact(ctx, deal.contactId)
    await expect(readDeal(ctx, deal.id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await listDealEventTypes()).toEqual(['deal.deleted'])
    expect(await readEventData('deal.deleted')).toEqual([deal])
  })

  test('moves its deals with their activity in a merge', async () => {
    await updateDeal(ctx, deal.id, { status: 'WON' })
    const survivor = await createTestContact(ctx)
    await mergeContacts(ctx, survivor.id, { contactId: deal.contactId })
    expect(await readDeal(ctx, deal.id)).toMatchObject({ contactId: survivor.id, status: 'WON' })
    expect(await movesOf()).toHaveLength(1)
  })

  test('is not found by a deal created or updated during its deletion', async () => {
    const deleting = await openTransaction(ctx.db, (db) => deleteContact({ ...ctx, db }, deal.contactId))
    const waiting = [
      createTestDeal(ctx, { pipelineId: pipeline.id, contactId: deal.contactId }),
      updateDeal(ctx, deal.id, { status: 'WON' }),
    ]
    const results = Promise.allSettled(waiting)
    await waitUntilBlocked(database.db, 2)
    await deleting.commit()
    expect(await results).toMatchObject([
      { reason: { issues: [{ path: 'contactId', message: 'Contact not found' }] } },
      { reason: { code: 'not_found', message: 'Deal not found' } },
    ])
  })

  test('is deleted with a deal that was created concurrently', async () => {
    let made: Deal | undefined
    const creating = await openTransaction(ctx.db, async (db) => {
      made = await createTestDeal({ ...ctx, db }, { pipelineId: pipeline.id, contactId: deal.contactId })
    })
    const deleting = deleteContact(ctx, deal.contactId)
    await waitUntilBlocked(database.db)
    await Promise.all([creating.commit(), deleting])
    await expect(readDeal(ctx, made?.id ?? newId('dea'))).rejects.toMatchObject({ code: 'not_found' })
  })

  test('can be swapped between two deals concurrently without a deadlock', async () => {
    const other = await createTestDeal(ctx, { pipelineId: pipeline.id })
    const pair = [deal.contactId, other.contactId] as const
    const unrepeated = { ...ctx, db: openUnrepeated(database) }
    for (let round = 1; round <= 10; round++) {
      const swapped = await Promise.all([
        updateDeal(unrepeated, deal.id, { contactId: pair[round % 2] ?? newId('con') }),
        updateDeal(unrepeated, other.id, { contactId: pair[(round + 1) % 2] ?? newId('con') }),
      ])
      expect(swapped.map(({ contactId }) => contactId)).toEqual([pair[round % 2], pair[(round + 1) % 2]])
    }
  })

  test('can be merged, moved and deleted concurrently without a deadlock', async () => {
    const unrepeated = { ...ctx, db: openUnrepeated(database) }
    for (let round = 0; round < 12; round++) {
      const [one, two] = [await createTestContact(ctx), await createTestContact(ctx)]
      const { id } = await createTestDeal(ctx, { pipelineId: pipeline.id, contactId: one.id })
      const results = await Promise.allSettled([
        updateDeal(unrepeated, id, { stageId: stageAt(1 + (round % 2)) }),
        mergeContacts(unrepeated, two.id, { contactId: one.id }),
        updateDeal(unrepeated, id, { contactId: two.id, status: 'WON' }),
        round % 3 ? updateDeal(unrepeated, id, { contactId: one.id }) : deleteContact(unrepeated, one.id),
        round % 4 ? updateDeal(unrepeated, id, { name: `round ${round}` }) : deleteDeal(unrepeated, id),
      ])
      const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
      for (const reason of reasons) expect(reason.message).toMatch(/^(Contact|Deal) not found$/)
    }
  })
})
