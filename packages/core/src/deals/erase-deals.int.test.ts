import fc from 'fast-check'
import { and, asc, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { listActivity } from '../contacts/list-activity.ts'
import { ActivityQuery } from '../events/activity.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { companies, events } from '../db/schema/index.ts'
import { type CompanyId, type ContactId, type DealId, newId, uuidOf } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { eraseNextStep } from '../operations/contacts/erase-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Ctx } from '../request/context.ts'
import { listDeliveries } from '../webhooks/delivery-log.ts'
import { DeliveryQuery } from '../webhooks/deliveries.schema.ts'
import type { Pipeline } from '../pipelines/pipelines.schema.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestMember,
  createTestPipeline,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { listDeals } from './list-deals.ts'
import { listDealMoves } from './list-deal-moves.ts'
import { deleteDeal, readDeal, updateDeal } from './update-deal.ts'
import { type Deal, DealMoveQuery, DealQuery } from './deals.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let pipeline: Pipeline
beforeEach(async () => {
  pipeline = await createTestPipeline(ctx, ['a', 'b'])
})

const createDealOf = (contactId: ContactId, name = 'Ada’s engine') =>
  createTestDeal(ctx, { pipelineId: pipeline.id, contactId, name, valueCents: 1_700 })

async function insertCompany(): Promise<CompanyId> {
  const id = newId('cpy')
  await ctx.db.insert(companies).values({ workspaceId: ctx.workspaceId, id, name: 'Acme' })
  return id
}

/** Deletes a contact, and does the work of the worker. */
async function erase(id: ContactId): Promise<void> {
  await deleteContact(ctx, id)
  while ((await eraseNextStep(ctx, uuidOf(id))) !== 'done');
}

/** Creates a deal of an erased person. */
async function createErasedDeal(status: 'WON' | 'LOST' = 'WON'): Promise<Deal> {
  const { id, contactId } = await createDealOf((await createTestContact(ctx)).id)
  await updateDeal(ctx, id, { status })
  await erase(contactId)
  return readDeal(ctx, id)
}

/** Returns the events of a deal, oldest first. */
async function readEvents(id: DealId) {
  const rows = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId)).orderBy(asc(events.id))
  return rows.filter(({ data }) => (data as Deal).id === id)
}

const unknownContact = { code: 'validation_error', issues: [{ path: 'contactId', message: 'Contact not found' }] }

test('a closed deal outlives its contact without the person, with one event', async () => {
  const ownerId = await createTestMember(ctx)
  const { id, contactId } = await createDealOf((await createTestContact(ctx)).id)
  const lost = await updateDeal(ctx, id, {
    status: 'LOST',
    lostReason: 'Price',
    ownerId,
    expectedCloseOn: '2026-12-31',
  })
  await erase(contactId)
  const kept = await readDeal(ctx, id)
  const now = expect.any(String) as string
  expect(kept).toEqual({ ...lost, name: '', contactErasedAt: now, updatedAt: now })
  const last = (await readEvents(id)).at(-1)
  expect(last).toMatchObject({ type: 'deal.updated', data: { ...kept, changes: null }, contactId: null })
  for (const query of [{ contactId }, { contactErased: 'true' }])
    expect((await listDeals(ctx, DealQuery.parse(query))).data).toEqual([kept])
  expect((await listDeals(ctx, DealQuery.parse({ contactErased: 'false' }))).data).toEqual([])
})

test.each([
  [{ changed: ['name'] }, 1],
  [{ changed: ['valueCents', 'contactErasedAt'], status: { eq: 'WON' as const } }, 1],
  [{ status: { eq: 'WON' as const } }, 1],
  [{ changed: ['customFieldValues.note'] }, 1],
  [{ changed: ['customFieldValues'], status: { eq: 'WON' as const } }, 1],
  [{ changed: ['valueCents', 'customFieldValues.seats'] }, 0],
])('the update of a deal by an erasure reaches a webhook with the filter %j', async (filter, count) => {
  for (const [key, type] of [['note', 'TEXT'] as const, ['seats', 'NUMBER'] as const])
    await createCustomField(ctx, { object: 'DEAL', key, label: key, type, options: [] })
  const { id, contactId } = await createDealOf((await createTestContact(ctx)).id)
  await updateDeal(ctx, id, { status: 'WON', customFieldValues: { note: 'Ada', seats: 3 } })
  const webhook = await createTestWebhook(ctx, { eventTypes: ['deal.updated'], filter })
  await erase(contactId)
  const { data } = await listDeliveries(ctx, webhook.id, DeliveryQuery.parse({}))
  expect(data.map(({ eventType }) => eventType)).toEqual(Array(count).fill('deal.updated'))
})

test('an OPEN deal goes with its contact, also one that was won before', async () => {
  const { id, contactId } = await createDealOf((await createTestContact(ctx)).id)
  await updateDeal(ctx, id, { status: 'WON' })
  await updateDeal(ctx, id, { status: 'OPEN' })
  await erase(contactId)
  await expect(readDeal(ctx, id)).rejects.toMatchObject({ code: 'not_found' })
  expect((await readEvents(id)).at(-1)).toMatchObject({ type: 'deal.deleted', data: { id, redacted: true } })
})

test('an OPEN deal of a company outlives its contact without the person', async () => {
  const companyId = await insertCompany()
  await createCustomField(ctx, { object: 'DEAL', key: 'note', label: 'Note', type: 'TEXT', options: [] })
  const { id: contactId } = await createTestContact(ctx)
  const named = { pipelineId: pipeline.id, contactId, name: 'Ada’s engine', customFieldValues: { note: 'Ada' } }
  const { id: goes } = await createTestDeal(ctx, named)
  const { id } = await createTestDeal(ctx, { ...named, companyId })
  await erase(contactId)
  await expect(readDeal(ctx, goes)).rejects.toMatchObject({ code: 'not_found' })
  const emptied = { status: 'OPEN', name: '', customFieldValues: {}, companyId, contactErasedAt: expect.any(String) }
  expect(await readDeal(ctx, id)).toMatchObject(emptied)
  const all = await readEvents(id)
  expect(all.map(({ data }) => data)).toMatchObject([
    { id, redacted: true },
    { ...emptied, changes: null },
  ])
  expect(await updateDeal(ctx, id, { status: 'WON' })).toMatchObject({ status: 'WON', companyId })
  const { id: heir } = await createTestContact(ctx)
  expect(await updateDeal(ctx, id, { contactId: heir })).toMatchObject({ contactId: heir, contactErasedAt: null })
})

test('the deal of an erased person is moved, lost, won, reopened and deleted', async () => {
  const { id, contactErasedAt } = await createErasedDeal()
  const stageId = pipeline.stages[1]?.id ?? newId('stg')
  const moved = await updateDeal(ctx, id, { stageId, valueCents: 5 })
  expect(moved).toMatchObject({ stageId, valueCents: 5, contactErasedAt })
  expect(await updateDeal(ctx, id, { status: 'LOST', lostReason: 'Price' })).toMatchObject({ lostReason: 'Price' })
  expect(await updateDeal(ctx, id, { status: 'OPEN' })).toMatchObject({ status: 'OPEN', contactErasedAt })
  expect(await updateDeal(ctx, id, { status: 'WON' })).toMatchObject({ status: 'WON', lostReason: null })
  expect((await listDealMoves(ctx, id, DealMoveQuery.parse({}))).data).toHaveLength(5)
  await deleteDeal(ctx, id)
  await expect(readDeal(ctx, id)).rejects.toMatchObject({ code: 'not_found' })
  const later = (await readEvents(id)).slice(-7)
  const types = ['updated', 'updated', 'stage_changed', 'lost', 'updated', 'won', 'deleted']
  expect(later.map(({ type, contactId }) => [type, contactId])).toEqual(types.map((type) => [`deal.${type}`, null]))
})

test('the deal of an erased person is given to another contact', async () => {
  const deal = await createErasedDeal()
  for (const contactId of [deal.contactId, newId('con')])
    await expect(updateDeal(ctx, deal.id, { contactId, name: 'taken' })).rejects.toMatchObject(unknownContact)
  const { id: contactId } = await createTestContact(ctx)
  const given = await updateDeal(ctx, deal.id, { contactId })
  expect(given).toMatchObject({ contactId, contactErasedAt: null, status: 'WON' })
  const activity = await listActivity(ctx, contactId, ActivityQuery.parse({}))
  expect(activity.data.map(({ type }) => type)).toEqual(['deal.updated', 'contact.created'])
  await mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId })
  expect((await readDeal(ctx, deal.id)).contactId).not.toBe(contactId)
})

test('events from before the erasure name no one, in any timeline', async () => {
  const [first, second, third, last] = [
    await createTestContact(ctx),
    await createTestContact(ctx),
    await createTestContact(ctx),
    await createTestContact(ctx),
  ]
  const { id } = await createDealOf(first.id)
  const unrelated = await createDealOf(first.id, 'unrelated')
  await updateDeal(ctx, id, { contactId: second.id })
  await mergeContacts(ctx, third.id, { contactId: second.id })
  await updateDeal(ctx, id, { status: 'WON', name: 'Ada’s other engine' })
  await erase(third.id)
  await updateDeal(ctx, id, { name: 'Ada’s, written later' })
  await updateDeal(ctx, id, { contactId: last.id })
  await erase(last.id)
  const all = await readEvents(id)
  expect(all.map(({ data }) => data).slice(0, -1)).toEqual(all.slice(1).map(() => ({ id, redacted: true })))
  expect(all.at(-1)).toMatchObject({ data: { name: '', changes: null } })
  expect((await readEvents(unrelated.id)).map(({ data }) => (data as Deal).name)).toEqual(['unrelated'])
})

test('a deal is not created for a contact that is being erased, nor given to it', async () => {
  const { id: contactId } = await createTestContact(ctx)
  const other = await createDealOf((await createTestContact(ctx)).id)
  const erased = await createErasedDeal()
  const erasing = await openTransaction(ctx.db, (db) => deleteContact({ ...ctx, db }, contactId))
  const attempts = [
    createDealOf(contactId),
    updateDeal(ctx, other.id, { contactId }),
    updateDeal(ctx, erased.id, { contactId }),
  ].map((attempt) => attempt.catch((error: unknown) => error))
  await waitUntilBlocked(database.db, 3)
  await erasing.commit()
  for (const outcome of await Promise.all(attempts)) expect(outcome).toMatchObject(unknownContact)
  expect((await listDeals(ctx, DealQuery.parse({ contactId }))).data).toEqual([])
})

test('a deal that is won while its contact is erased is kept', async () => {
  const { id, contactId } = await createDealOf((await createTestContact(ctx)).id)
  const winning = await openTransaction(ctx.db, (db) => updateDeal({ ...ctx, db }, id, { status: 'WON' }))
  const erasing = deleteContact(ctx, contactId)
  await waitUntilBlocked(database.db)
  await winning.commit()
  await erasing
  expect(await readDeal(ctx, id)).toMatchObject({ status: 'WON', name: '' })
})

test('a change that waits for the erasure of the contact finds the emptied deal', async () => {
  const { id, contactId } = await createDealOf((await createTestContact(ctx)).id)
  await updateDeal(ctx, id, { status: 'WON' })
  const erasing = await openTransaction(ctx.db, (db) => deleteContact({ ...ctx, db }, contactId))
  const reopening = updateDeal(ctx, id, { status: 'OPEN' })
  await waitUntilBlocked(database.db)
  await erasing.commit()
  expect(await reopening).toMatchObject({ status: 'OPEN', name: '', contactErasedAt: expect.any(String) })
})

/** The count and the sum of the closed deals. */
async function sumClosed(of: Ctx): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select status, count(*)::int, sum(value_cents)::text from deals
     where workspace_id = $1 and status <> 'OPEN' group by 1 order by 1`,
    [uuidOf(of.workspaceId)],
  )
  return rows
}

const people = 4
const person = fc.nat({ max: people - 1 })
const dealOf = fc.record({
  contact: person,
  given: fc.option(person, { freq: 2 }),
  cents: fc.maxSafeNat(),
  status: fc.constantFrom('OPEN' as const, 'WON' as const, 'LOST' as const),
})
const seed = chooseSeed(20_261_128)

test(`erasing any people in any order changes no sum of closed deals (seed ${seed})`, async () => {
  const property = fc.asyncProperty(
    fc.array(dealOf, { minLength: 1, maxLength: 8 }),
    fc.shuffledSubarray([0, 1, 2, 3], { minLength: 1 }),
    fc.option(person),
    async (made, erased, merged) => {
      const world = await createTestCtx(database.db)
      const { id: pipelineId } = await createTestPipeline(world)
      const ids = await Promise.all(Array.from({ length: people }, async () => (await createTestContact(world)).id))
      const at = (index: number) => ids[index] ?? newId('con')
      for (const { contact, given, cents, status } of made) {
        const { id } = await createTestDeal(world, { pipelineId, contactId: at(contact), valueCents: cents })
        await updateDeal(world, id, { status, ...(given !== null && { contactId: at(given) }) })
      }
      const before = await sumClosed(world)
      if (merged !== null && merged !== erased[0])
        await mergeContacts(world, at(erased[0] ?? 0), { contactId: at(merged) })
      for (const index of erased.filter((one) => one !== merged || one === erased[0])) {
        await deleteContact(world, at(index))
        expect(await sumClosed(world)).toEqual(before)
      }
      const open = and(eq(events.workspaceId, world.workspaceId), eq(events.type, 'deal.deleted'))
      expect(await world.db.$count(events, open)).toBeLessThanOrEqual(
        made.filter((one) => one.status === 'OPEN').length,
      )
    },
  )
  await fc.assert(property, { seed, numRuns: countRuns({ gate: 15, full: 300 }) })
})
