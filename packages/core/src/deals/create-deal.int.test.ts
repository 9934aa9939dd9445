import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Ctx, inTransaction } from '../request/context.ts'
import { openDatabase } from '../db/client.ts'
import { type ContactId, idOf, newId, uuidOf } from '../kernel/ids.ts'
import { updatePipeline } from '../pipelines/pipelines.ts'
import type { Pipeline } from '../pipelines/pipelines.schema.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestCompany,
  createTestContact,
  createTestCtx,
  createTestMember,
  createTestPipeline,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { transaction } from '../db/transaction.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { updateWebhook } from '../operations/webhooks/save-webhook.ts'
import { createDeal } from './create-deal.ts'
import { readDeal } from './update-deal.ts'
import { DealInput } from './deals.schema.ts'
import { readContact } from '../contacts/read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let pipeline: Pipeline
let contactIds: ContactId[]
beforeEach(async () => {
  pipeline = await createTestPipeline(ctx, ['a', 'b'])
  const contacts = await Promise.all(Array.from({ length: 10 }, () => createTestContact(ctx)))
  contactIds = contacts.map(({ id }) => id)
})

const inputOf = (n: number, overrides: Partial<DealInput> = {}) =>
  DealInput.parse({
    pipelineId: pipeline.id,
    contactId: contactIds[n % 10],
    name: `Deal ${n}`,
    valueCents: n,
    ...overrides,
  })
const lockContactRow = (id = newId('con')) =>
  sql`select from contacts where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(id)} for update`
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

async function countTransactions(): Promise<{ emitted: number; transactions: number } | undefined> {
  const { rows } = await database.db.execute<{ emitted: number; transactions: number }>(sql`
    select count(*)::int as emitted, count(distinct transaction_id)::int as transactions from events
    where workspace_id = ${uuidOf(ctx.workspaceId)} and type = 'deal.created'`)
  return rows[0]
}

test('creates concurrent deals with one event each in a few transactions', async () => {
  const [, second] = pipeline.stages
  const created = await Promise.all(
    upTo(50).map((n) => createDeal(ctx, inputOf(n, n % 2 ? { stageId: second?.id } : {}))),
  )
  expect(created).toMatchObject(
    upTo(50).map((n) => ({
      contactId: contactIds[n % 10],
      name: `Deal ${n}`,
      valueCents: n,
      stageId: pipeline.stages[n % 2]?.id,
    })),
  )
  expect(await Promise.all(created.map(({ id }) => readDeal(ctx, id)))).toEqual(created)
  const { emitted, transactions } = (await countTransactions()) ?? {}
  expect(emitted).toBe(50)
  expect(transactions).toBeLessThan(5)
  const latest = created.filter(({ contactId }) => contactId === contactIds[0]).map(({ createdAt }) => createdAt)
  const { lastActivityAt } = await readContact(ctx, contactIds[0] ?? newId('con'))
  expect(lastActivityAt).toBe(latest.toSorted().at(-1))
})

test('an invalid deal does not affect the deals created with it', async () => {
  const other = await createTestCtx(database.db)
  const [otherPipeline, otherContact] = [await createTestPipeline(other), await createTestContact(other)]
  const untouched = await Promise.all([4, 5, 6].map((n) => readContact(ctx, contactIds[n] ?? newId('con'))))
  const results = await Promise.allSettled([
    createDeal(ctx, inputOf(1)),
    createDeal(ctx, inputOf(2, { contactId: newId('con') })),
    createDeal(ctx, inputOf(3, { contactId: otherContact.id })),
    createDeal(ctx, inputOf(4, { pipelineId: otherPipeline.id })),
    createDeal(ctx, inputOf(5, { stageId: newId('stg') })),
    createDeal(ctx, inputOf(6, { stageId: otherPipeline.stages[0]?.id })),
    createDeal(ctx, inputOf(1)),
  ])
  expect(results).toMatchObject([
    { value: { name: 'Deal 1' } },
    { reason: { issues: [{ path: 'contactId', message: 'Contact not found' }] } },
    { reason: { issues: [{ path: 'contactId', message: 'Contact not found' }] } },
    { reason: { issues: [{ path: 'pipelineId', message: 'Pipeline not found' }] } },
    { reason: { issues: [{ path: 'stageId', message: 'Stage not found in this pipeline' }] } },
    { reason: { issues: [{ path: 'stageId', message: 'Stage not found in this pipeline' }] } },
    { value: { name: 'Deal 1' } },
  ])
  expect(await countTransactions()).toMatchObject({ emitted: 2 })
  expect(await Promise.all(untouched.map(({ id }) => readContact(ctx, id)))).toEqual(untouched)
})

test.each([0, 2])('a member and a company with one UUID are told apart, beside %i more deals', async (others) => {
  const ownerId = await createTestMember(ctx)
  const { id: companyId } = await createTestCompany(ctx)
  const create = (known: Partial<DealInput>, unknown: Partial<DealInput>) => {
    const inputs = [...upTo(others).map((n) => inputOf(n, known)), inputOf(others, { ...known, ...unknown })]
    return Promise.allSettled(inputs.map((input) => createDeal(ctx, input)))
  }
  const createdAndRefused = (path: string, message: string) => [
    ...upTo(others).map((n) => ({ value: { name: `Deal ${n}` } })),
    { reason: { code: 'validation_error', issues: [{ path, message }] } },
  ]
  expect(await create({ ownerId }, { companyId: idOf('cpy', uuidOf(ownerId)) })).toMatchObject(
    createdAndRefused('companyId', 'Company not found'),
  )
  expect(await create({ companyId }, { ownerId: idOf('usr', uuidOf(companyId)) })).toMatchObject(
    createdAndRefused('ownerId', 'User not found'),
  )
})

test('a deal that the database rejects fails alone', async () => {
  // Validation rejects this character, so that only the database sees it here.
  const results = await Promise.allSettled(
    upTo(10).map((n) => createDeal(ctx, { ...inputOf(n), ...(n === 5 && { name: '\u0000' }) })),
  )
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(upTo(10).map((n) => n !== 5))
  expect(await countTransactions()).toMatchObject({ emitted: 9 })
})

test('a deal that waits for a locked contact does not delay other deals', async () => {
  const lockContact = (n: number) => openTransaction(database.db, (db) => db.execute(lockContactRow(contactIds[n])))
  const [first, second] = [await lockContact(0), await lockContact(1)]
  const waiting = [0, 1].map((n) => createDeal(ctx, inputOf(n)))
  const refused = createDeal(ctx, inputOf(3, { contactId: newId('con') }))
  await expect(refused).rejects.toMatchObject({ issues: [{ path: 'contactId' }] })
  expect(await createDeal(ctx, inputOf(2))).toMatchObject({ name: 'Deal 2' })
  await second.commit()
  expect(await waiting[1]).toMatchObject({ name: 'Deal 1' })
  await first.commit()
  expect(await waiting[0]).toMatchObject({ name: 'Deal 0' })
})

test('a deal that waits for a locked company does not delay other deals', async () => {
  const { id: companyId } = await createTestCompany(ctx)
  const isCompany = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(companyId)}`
  const locking = await openTransaction(database.db, (db) =>
    db.execute(sql`select from companies where ${isCompany} for update`),
  )
  onTestFinished(() => locking.commit())
  // A statement with all of them would wait without end.
  const settings = { lock_timeout: '0', statement_timeout: '0' }
  const patient = openDatabase(database.url, { applicationName: 'rapport test', settings, onError: () => {} })
  onTestFinished(() => patient.close())
  const create = (n: number, overrides = {}) => createDeal({ ...ctx, db: patient.db }, inputOf(n, overrides))
  const waiting = create(0, { companyId })
  const others = await Promise.all([1, 2, 3].map((n) => create(n)))
  expect(others.map(({ name }) => name)).toEqual(['Deal 1', 'Deal 2', 'Deal 3'])
  await locking.commit()
  expect(await waiting).toMatchObject({ name: 'Deal 0', companyId })
})

test('an invalid deal fails alone even if its error cannot be determined', async () => {
  const settings = { lock_timeout: '1s' }
  const timeoutDatabase = openDatabase(database.url, { applicationName: 'rapport test', settings, onError: () => {} })
  onTestFinished(() => timeoutDatabase.close())
  const holding = await openTransaction(database.db, (db) => db.execute(sql`lock table events in exclusive mode`))
  const results = Promise.allSettled(
    upTo(4).map((n) =>
      createDeal({ ...ctx, db: timeoutDatabase.db }, inputOf(n, n === 2 ? { contactId: newId('con') } : {})),
    ),
  )
  await waitUntilBlocked(database.db)
  const locking = openTransaction(database.db, (db) => db.execute(sql`lock table contacts in access exclusive mode`))
  onTestFinished(async () => (await locking).commit())
  await waitUntilBlocked(database.db, 2)
  await holding.commit()
  expect(await results).toMatchObject(
    upTo(4).map((n) => (n === 2 ? { status: 'rejected' } : { value: { name: `Deal ${n}` } })),
  )
  expect(await countTransactions()).toMatchObject({ emitted: 3 })
})

test('locks workspaces before events, as the upkeep of partitions does', async () => {
  const one = openDatabase(database.url, { applicationName: 'rapport test', maxConnections: 1, onError: () => {} })
  onTestFinished(() => one.close())
  const events = sql`lock table events, deliveries, webhooks in access exclusive mode nowait`
  // Tests the custom plan first, and the generic plan after ten executions.
  for (const before of [0, 10]) {
    for (const n of upTo(before)) await createDeal({ ...ctx, db: one.db }, inputOf(n))
    const upkeep = await openTransaction(database.db, (db) =>
      db.execute(sql`lock table workspaces in access exclusive mode`),
    )
    onTestFinished(() => upkeep.commit())
    const creating = createDeal({ ...ctx, db: one.db }, inputOf(before))
    await waitUntilBlocked(database.db)
    await transaction(database.db, (db) => db.execute(events))
    await upkeep.commit()
    await creating
  }
  expect(await countTransactions()).toMatchObject({ emitted: 12 })
})

test.each([
  ['outside a transaction', (work: (ctx: Ctx) => Promise<unknown>) => work(ctx)],
  ['in the transaction of an Idempotency-Key', (work: (ctx: Ctx) => Promise<unknown>) => inTransaction(ctx, work)],
])('creates the deal in the next stage if the first is removed: %s', async (_how, run) => {
  const [, second] = pipeline.stages
  const removing = await openTransaction(database.db, (db) =>
    updatePipeline({ ...ctx, db }, pipeline.id, { stages: [{ id: second?.id }] }),
  )
  const creating = run((ctx) => createDeal(ctx, inputOf(0)))
  await waitUntilBlocked(database.db)
  await removing.commit()
  expect(await creating).toMatchObject({ stageId: second?.id })
  expect(await countTransactions()).toMatchObject({ emitted: 1 })
})

test('the event contains exactly the response', async () => {
  const name = `%s "q" \\ {"stageId":""} \u2028 🙂 </script>`
  const pipelines = await Promise.all(upTo(10).map(() => createTestPipeline(ctx, ['a', 'b'])))
  const created = await Promise.all(
    pipelines.flatMap(({ id: pipelineId, stages: [, second] }, n) => [
      createDeal(ctx, inputOf(n, { pipelineId, name, valueCents: Number.MAX_SAFE_INTEGER })),
      createDeal(ctx, inputOf(n, { pipelineId, stageId: second?.id })),
    ]),
  )
  const { rows } = await database.db.execute<{ id: string; data: string }>(sql`
    select data ->> 'id' as id, data::text from events
    where workspace_id = ${uuidOf(ctx.workspaceId)} and type = 'deal.created'`)
  const emitted = new Map(rows.map(({ id, data }) => [id, data]))
  expect(created.map(({ id }) => emitted.get(id))).toEqual(created.map((deal) => JSON.stringify(deal)))
})

test('delivers to the webhooks that are enabled when the deal is inserted', async () => {
  const { id: before } = await createTestWebhook(ctx, { eventTypes: ['deal.created'] })
  const holding = await openTransaction(database.db, (db) => db.execute(lockContactRow(contactIds[0])))
  const creating = createDeal(ctx, inputOf(0))
  await waitUntilBlocked(database.db)
  await updateWebhook(ctx, before, { enabled: false })
  const { id: after } = await createTestWebhook(ctx, { eventTypes: ['deal.created'] })
  await holding.commit()
  await creating
  const { rows } = await database.db.execute<{ id: string }>(
    sql`select webhook_id as id from deliveries where workspace_id = ${uuidOf(ctx.workspaceId)}`,
  )
  expect(rows).toEqual([{ id: uuidOf(after) }])
})

test('each delivery has the id of its own request', async () => {
  await createTestWebhook(ctx, { eventTypes: ['deal.created'] })
  const requests = upTo(20).map(() => randomUUID())
  await Promise.all(upTo(20).map((n) => createDeal({ ...ctx, requestId: requests[n] ?? '' }, inputOf(n))))
  const { rows } = await database.db.execute<{ name: string; requestId: string }>(sql`
    select data->>'name' as name, d.request_id as "requestId"
    from deliveries d join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.workspace_id = ${uuidOf(ctx.workspaceId)}`)
  const requestOf = new Map(rows.map(({ name, requestId }) => [name, requestId]))
  expect(upTo(20).map((n) => requestOf.get(`Deal ${n}`))).toEqual(requests)
})
