import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { listActivity } from '../contacts/list-activity.ts'
import { mergeContacts } from '../operations/merge-contacts.ts'
import { ActivityQuery } from '../contacts/contacts.schema.ts'
import type { Ctx } from '../request/context.ts'
import { newId } from '../kernel/ids.ts'
import type { Pipeline } from '../pipelines/pipelines.schema.ts'
import { contacts, dealMoves, events } from '../db/schema/index.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
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
import { type Deal, type DealChange, DealMoveQuery } from './deals.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/delete-contact.ts'

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
/** What was told of the deal since it was made. */
const toldOfDeal = async () => (await listEventTypes(ctx)).filter((type) => type.startsWith('deal.')).slice(1)
const tellingOf = async (type: string) => {
  const rows = await ctx.db
    .select()
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, type)))
  return rows.map(({ data }) => data)
}
/** As if nothing had happened to anybody for a day. */
const letPassADay = () =>
  ctx.db
    .update(contacts)
    .set({ lastActivityAt: sql`now() - interval '1 day'` })
    .where(eq(contacts.workspaceId, ctx.workspaceId))
const lastActivity = async (id = deal.contactId) => Date.parse((await readContact(ctx, id)).lastActivityAt ?? '')

test('a deal begins OPEN in the first stage, or in the one that is named', async () => {
  expect(deal).toMatchObject({ stageId: stageAt(0), status: 'OPEN', closedAt: null, valueCents: 0 })
  const second = await createTestDeal(ctx, { pipelineId: pipeline.id, stageId: stageAt(1) })
  expect(second.stageId).toBe(stageAt(1))
  expect(await tellingOf('deal.created')).toEqual([deal, second])
})

test('a deal of what is not there is invalid, and says which', async () => {
  const { contactId } = deal
  const other = await createTestPipeline(ctx)
  const cases = [
    [{ pipelineId: newId('pip'), contactId }, 'pipelineId', 'Pipeline not found'],
    [{ pipelineId: pipeline.id, contactId: newId('con') }, 'contactId', 'Contact not found'],
    [{ pipelineId: pipeline.id, contactId, stageId: newId('stg') }, 'stageId', 'Stage not found in this pipeline'],
    [{ pipelineId: pipeline.id, contactId, stageId: stageAt(0, other) }, 'stageId', 'Stage not found in this pipeline'],
  ] as const
  for (const [given, path, message] of cases) {
    await expect(createDeal(ctx, { name: '', valueCents: 0, ...given })).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path, message }],
    })
  }
  expect(await toldOfDeal()).toEqual([])
})

describe('a change', () => {
  test.each([
    ['another name', { name: 'Analytical engine' }, ['deal.updated']],
    ['another value', { valueCents: Number.MAX_SAFE_INTEGER }, ['deal.updated']],
    ['a win', { status: 'WON' }, ['deal.won']],
    ['a loss', { status: 'LOST' }, ['deal.lost']],
    ['a win at another price', { status: 'WON', valueCents: 1 }, ['deal.updated', 'deal.won']],
    ['nothing named', {}, []],
    ['the same again', { name: 'Engine', valueCents: 0, status: 'OPEN' }, []],
  ] as [string, DealChange, string[]][])('that is %s is told once by what it is', async (_name, change, told) => {
    const changed = await updateDeal(ctx, deal.id, change)
    expect(changed).toEqual({ ...changed, ...(told.length === 0 ? deal : change) })
    expect(await toldOfDeal()).toEqual(told)
    expect(await readDeal(ctx, deal.id)).toEqual(changed)
  })

  test('of the stage is told with where the deal was', async () => {
    const moved = await updateDeal(ctx, deal.id, { stageId: stageAt(2) })
    expect(moved.stageId).toBe(stageAt(2))
    expect(await tellingOf('deal.stage_changed')).toEqual([
      { ...moved, previousPipelineId: pipeline.id, previousStageId: stageAt(0) },
    ])
    expect(await toldOfDeal()).toEqual(['deal.stage_changed'])
  })

  test('of the pipeline begins in its first stage, unless one is named', async () => {
    const other = await createTestPipeline(ctx)
    const first = await updateDeal(ctx, deal.id, { pipelineId: other.id })
    expect(first).toMatchObject({ pipelineId: other.id, stageId: stageAt(0, other) })
    const back = await updateDeal(ctx, deal.id, { pipelineId: pipeline.id, stageId: stageAt(1) })
    expect(back).toMatchObject({ pipelineId: pipeline.id, stageId: stageAt(1) })
    expect(await updateDeal(ctx, deal.id, { pipelineId: pipeline.id })).toEqual(back)
    expect(await toldOfDeal()).toEqual(['deal.stage_changed', 'deal.stage_changed'])
  })

  test('to a stage of another pipeline is invalid, whichever of the two is named', async () => {
    const other = await createTestPipeline(ctx)
    for (const change of [{ stageId: stageAt(0, other) }, { pipelineId: other.id, stageId: stageAt(0) }]) {
      await expect(updateDeal(ctx, deal.id, change)).rejects.toMatchObject({ issues: [{ path: 'stageId' }] })
    }
    expect(await readDeal(ctx, deal.id)).toEqual(deal)
  })

  test('to another contact takes the deal there; to one who is not there it is invalid', async () => {
    const other = await createTestContact(ctx)
    expect(await updateDeal(ctx, deal.id, { contactId: other.id })).toMatchObject({ contactId: other.id })
    expect(await toldOfDeal()).toEqual(['deal.updated'])
    await expect(updateDeal(ctx, deal.id, { contactId: newId('con') })).rejects.toMatchObject({
      issues: [{ path: 'contactId', message: 'Contact not found' }],
    })
  })
})

describe('closing', () => {
  test('WON and LOST set when, the same again keeps it, OPEN clears it, and each is told once', async () => {
    const won = await updateDeal(ctx, deal.id, { status: 'WON' })
    expect(Date.parse(won.closedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(deal.createdAt))
    expect(await updateDeal(ctx, deal.id, { status: 'WON' })).toEqual(won)
    expect((await updateDeal(ctx, deal.id, { name: 'Paid' })).closedAt).toBe(won.closedAt)
    const lost = await updateDeal(ctx, deal.id, { status: 'LOST' })
    expect(Date.parse(lost.closedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(won.closedAt ?? ''))
    expect((await updateDeal(ctx, deal.id, { status: 'OPEN' })).closedAt).toBeNull()
    expect(await toldOfDeal()).toEqual(['deal.won', 'deal.updated', 'deal.lost', 'deal.updated'])
  })

  test('however many close and reopen at once, each tells what it changed, and closedAt fits the status', async () => {
    const statuses = Array.from({ length: 30 }, (_, n) => (['WON', 'LOST', 'OPEN'] as const)[n % 3])
    const seen = await Promise.all(statuses.map((status) => updateDeal(ctx, deal.id, status ? { status } : {})))
    for (const { status, closedAt } of [...seen, await readDeal(ctx, deal.id)]) {
      expect([status, closedAt === null]).toEqual([status, status === 'OPEN'])
    }
    const moves = (await movesOf()).toReversed()
    expect(await toldOfDeal()).toHaveLength(moves.length)
    expect(moves.slice(1).map(({ from }) => from)).toEqual(moves.slice(0, -1).map(({ to }) => to))
  })
})

describe('the history of a deal', () => {
  test('has each move to another stage or status, newest first, and who made it', async () => {
    const user: Ctx = { ...ctx, actor: { kind: 'user', userId: newId('usr'), role: 'MEMBER' } }
    const key: Ctx = { ...ctx, actor: { kind: 'apiKey', apiKeyId: newId('key'), role: 'MEMBER' } }
    await updateDeal(user, deal.id, { stageId: stageAt(1) })
    await updateDeal(key, deal.id, { stageId: stageAt(2), status: 'WON', name: 'Sold' })
    await updateDeal(user, deal.id, { name: 'Sold twice' })
    await updateDeal(ctx, deal.id, { status: 'OPEN' })
    const at = (position: number, status: string) => ({ pipelineId: pipeline.id, stageId: stageAt(position), status })
    const nobody = { userId: null, apiKeyId: null }
    expect(await movesOf()).toMatchObject([
      { from: at(2, 'WON'), to: at(2, 'OPEN'), ...nobody },
      { from: at(1, 'OPEN'), to: at(2, 'WON'), userId: null, apiKeyId: expect.stringMatching(/^key_/) },
      { from: at(0, 'OPEN'), to: at(1, 'OPEN'), userId: expect.stringMatching(/^usr_/), apiKeyId: null },
    ])
  })

  test('has no gap where two move at once: each starts where the one before it came to', async () => {
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

  test('is of this deal and workspace, and goes with the deal', async () => {
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
    expect(await tellingOf('deal.deleted')).toMatchObject([{ id: deal.id, status: 'WON' }])
  })
})

describe('the contact of a deal', () => {
  test('sees in their activity what happened to it, and when it was last', async () => {
    for (const happen of [
      () => createTestDeal(ctx, { pipelineId: pipeline.id, contactId: deal.contactId }),
      () => updateDeal(ctx, deal.id, { stageId: stageAt(1) }),
      () => deleteDeal(ctx, deal.id),
    ]) {
      await letPassADay()
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

  test('is not touched by a change that changes nothing', async () => {
    const before = await readContact(ctx, deal.contactId)
    await updateDeal(ctx, deal.id, { name: 'Engine', stageId: stageAt(0) })
    expect(await readContact(ctx, deal.contactId)).toEqual(before)
  })

  test('takes the deals along when deleted, which contact.deleted tells and nothing else', async () => {
    await deleteContact(ctx, deal.contactId)
    await expect(readDeal(ctx, deal.id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await toldOfDeal()).toEqual([])
  })

  test('hands them over when merged into another, with their history', async () => {
    await updateDeal(ctx, deal.id, { status: 'WON' })
    const survivor = await createTestContact(ctx)
    await mergeContacts(ctx, survivor.id, { contactId: deal.contactId })
    expect(await readDeal(ctx, deal.id)).toMatchObject({ contactId: survivor.id, status: 'WON' })
    expect(await movesOf()).toHaveLength(1)
  })

  test('is deleted while a deal is made for them: there is no such contact, and no such deal', async () => {
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

  test('is deleted after a deal that was just being made for them, and takes it along', async () => {
    let made: Deal | undefined
    const creating = await openTransaction(ctx.db, async (db) => {
      made = await createTestDeal({ ...ctx, db }, { pipelineId: pipeline.id, contactId: deal.contactId })
    })
    const deleting = deleteContact(ctx, deal.contactId)
    await waitUntilBlocked(database.db)
    await Promise.all([creating.commit(), deleting])
    await expect(readDeal(ctx, made?.id ?? newId('dea'))).rejects.toMatchObject({ code: 'not_found' })
  })

  test('changes places with that of another deal, at once and both ways, and neither waits for ever', async () => {
    const other = await createTestDeal(ctx, { pipelineId: pipeline.id })
    const pair = [deal.contactId, other.contactId] as const
    for (let round = 1; round <= 10; round++) {
      const swapped = await Promise.all([
        updateDeal(ctx, deal.id, { contactId: pair[round % 2] ?? newId('con') }),
        updateDeal(ctx, other.id, { contactId: pair[(round + 1) % 2] ?? newId('con') }),
      ])
      expect(swapped.map(({ contactId }) => contactId)).toEqual([pair[round % 2], pair[(round + 1) % 2]])
    }
  })

  test('changes while the deal does: merges, moves, wins and deletions at once end in no deadlock', async () => {
    for (let round = 0; round < 12; round++) {
      const [one, two] = [await createTestContact(ctx), await createTestContact(ctx)]
      const { id } = await createTestDeal(ctx, { pipelineId: pipeline.id, contactId: one.id })
      const results = await Promise.allSettled([
        updateDeal(ctx, id, { stageId: stageAt(1 + (round % 2)) }),
        mergeContacts(ctx, two.id, { contactId: one.id }),
        updateDeal(ctx, id, { contactId: two.id, status: 'WON' }),
        round % 3 ? updateDeal(ctx, id, { contactId: one.id }) : deleteContact(ctx, one.id),
        round % 4 ? updateDeal(ctx, id, { name: `round ${round}` }) : deleteDeal(ctx, id),
      ])
      const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
      for (const reason of reasons) expect(reason.message).toMatch(/^(Contact|Deal) not found$/)
    }
  })
})
