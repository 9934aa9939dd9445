import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { inTransaction } from '../request/context.ts'
import { openDatabase } from '../db/client.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { transaction } from '../db/transaction.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

import { createContact } from './create-contact.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { readContact } from './read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const person = (n: number) => ({ email: `person-${n}@example.com` })
const many = <Result>(count: number, work: (n: number) => Promise<Result>) =>
  Promise.allSettled(Array.from({ length: count }, (_, n) => work(n)))

test('concurrent creations share a few transactions and emit one event each', async () => {
  const created = await many(50, (n) => createContact(ctx, person(n)))
  const ids = created.map((one) => (one.status === 'fulfilled' ? one.value.id : newId('con')))
  const read = await many(50, (n) => readContact(ctx, ids[n] ?? newId('con')))
  expect(read.map((one) => one.status === 'fulfilled' && one.value.email)).toEqual(ids.map((_, n) => person(n).email))
  expect(await listEventTypes(ctx)).toHaveLength(50)
  const { rows } = await database.db.execute<{ transactions: number }>(
    sql`select count(distinct transaction_id)::int as transactions from events where workspace_id = ${uuidOf(ctx.workspaceId)}`,
  )
  expect(rows[0]?.transactions).toBeLessThan(5)
})

test('an invalid contact fails alone, and the others are created', async () => {
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const known = await createTestContact(ctx, { email: 'Known@example.com' })
  const results = await Promise.allSettled([
    createContact(ctx, person(1)),
    createContact(ctx, person(2)),
    createContact(ctx, { email: 'known@example.com' }),
    createContact(ctx, { ...person(3), customFieldValues: { seats: 'many' } }),
    createContact(ctx, { ...person(4), customFieldValues: { colour: 'red' } }),
    createContact(ctx, { email: 'PERSON-2@example.com' }),
    createContact(ctx, { ...person(5), customFieldValues: { seats: 3 }, tags: ['a b', 'c"d'], phone: '+1' }),
  ])
  expect(results).toMatchObject([
    { value: { email: 'person-1@example.com' } },
    { value: { email: 'person-2@example.com' } },
    { reason: { code: 'already_exists', details: { contactId: known.id } } },
    { reason: { code: 'validation_error', message: 'customFieldValues.seats: must be a number' } },
    { reason: { code: 'validation_error', message: 'customFieldValues.colour: unknown custom field' } },
    { reason: { code: 'already_exists' } },
    { value: { customFieldValues: { seats: 3 }, tags: ['a b', 'c"d'], phone: '+1', emailSubscribedStatus: 'NONE' } },
  ])
  expect(await listEventTypes(ctx)).toHaveLength(4)
})

test('a contact that the database rejects fails alone', async () => {
  // A request cannot contain this character, so only the database rejects it.
  const firstName = '\u0000'
  const results = await many(10, (n) => createContact(ctx, { ...person(n), ...(n === 5 && { firstName }) }))
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(results.map((_, n) => n !== 5))
  expect(await listEventTypes(ctx)).toHaveLength(9)
})

test('concurrent reads return only contacts of their own workspace', async () => {
  const other = await createTestCtx(database.db)
  const [own, theirs] = [await createTestContact(ctx), await createTestContact(other)]
  const readers = [ctx, ctx, other, ctx, other, other, ctx]
  const results = await Promise.allSettled(
    readers.flatMap((reader) => [readContact(reader, own.id), readContact(reader, theirs.id)]),
  )
  const notFound = { reason: { code: 'not_found' } }
  expect(results).toMatchObject(
    readers.flatMap((reader) => (reader === ctx ? [{ value: own }, notFound] : [notFound, { value: theirs }])),
  )
})

test('a creation that waits for a taken email does not delay others', async () => {
  const taken = Promise.withResolvers<void>()
  const isTaking = Promise.withResolvers<void>()
  const taking = inTransaction(ctx, async (ctx) => {
    await createContact(ctx, person(1))
    isTaking.resolve()
    await taken.promise
  })
  await isTaking.promise
  const second = createContact(ctx, person(1))
  // It rejects before it is awaited.
  second.catch(() => {})
  const elsewhere = await createTestCtx(database.db)
  expect(await createContact(elsewhere, person(1))).toMatchObject(person(1))
  expect(await createContact(ctx, person(2))).toMatchObject(person(2))
  taken.resolve()
  await taking
  await expect(second).rejects.toMatchObject({ code: 'already_exists' })
})

test('a conflict whose owner cannot be looked up fails alone', async () => {
  const settings = { lock_timeout: '1s' }
  const shortTimeout = openDatabase(database.url, { applicationName: 'rapport test', settings, onError: () => {} })
  onTestFinished(() => shortTimeout.close())
  const taking = await openTransaction(ctx.db, (db) => createContact({ ...ctx, db }, person(1)))
  const results = many(4, (n) => createContact({ ...ctx, db: shortTimeout.db }, person(n)))
  await waitUntilBlocked(database.db)
  const locking = openTransaction(ctx.db, (db) => db.execute(sql`lock table contacts in access exclusive mode`))
  onTestFinished(async () => (await locking).commit())
  await waitUntilBlocked(database.db, 2)
  await taking.commit()
  expect(await results).toMatchObject(
    [0, 1, 2, 3].map((n) => (n === 1 ? { status: 'rejected' } : { value: person(n) })),
  )
  await (await locking).commit()
  expect(await listEventTypes(ctx)).toHaveLength(4)
})

test('locks workspaces before events, in the order of event maintenance', async () => {
  const one = openDatabase(database.url, { applicationName: 'rapport test', maxConnections: 1, onError: () => {} })
  onTestFinished(() => one.close())
  const events = sql`lock table events, deliveries, webhooks in access exclusive mode nowait`
  // With the custom plan, then with the generic plan.
  for (const before of [0, 10]) {
    for (let n = 0; n < before; n += 1) await createTestContact({ ...ctx, db: one.db })
    const upkeep = await openTransaction(ctx.db, (db) =>
      db.execute(sql`lock table workspaces in access exclusive mode`),
    )
    onTestFinished(() => upkeep.commit())
    const creating = createTestContact({ ...ctx, db: one.db })
    await waitUntilBlocked(database.db)
    await transaction(database.db, (db) => db.execute(events))
    await upkeep.commit()
    await creating
  }
  expect(await listEventTypes(ctx)).toHaveLength(12)
})

test('a creation in a deleted workspace fails without affecting other workspaces', async () => {
  const gone = await createTestCtx(database.db)
  await database.db.execute(sql`delete from workspaces where id = ${uuidOf(gone.workspaceId)}`)
  const [first, second] = await Promise.allSettled([createContact(gone, person(1)), createContact(ctx, person(1))])
  expect([first, second]).toMatchObject([{ reason: { code: 'unavailable' } }, { value: person(1) }])
  expect(await listEventTypes(gone)).toEqual([])
})

test('a custom field stays locked until its values are written', async () => {
  await createCustomField(ctx, { key: 'note', label: 'Note', type: 'TEXT', options: [] })
  const taking = await openTransaction(ctx.db, (db) => createContact({ ...ctx, db }, person(1)))
  const second = createContact(ctx, { ...person(1), customFieldValues: { note: 'hello' } })
  second.catch(() => {})
  await waitUntilBlocked(database.db)
  // The same lock as the job that clears a removed field.
  const free = sql`select from custom_fields where workspace_id = ${uuidOf(ctx.workspaceId)} for update skip locked`
  expect((await database.db.execute(free)).rowCount).toBe(0)
  await taking.commit()
  await expect(second).rejects.toMatchObject({ code: 'already_exists' })
  expect((await database.db.execute(free)).rowCount).toBe(1)
})

test('each delivery has the id of the request that created the contact', async () => {
  await createTestWebhook(ctx, { eventTypes: ['contact.created'] })
  const requests = Array.from({ length: 20 }, () => randomUUID())
  await many(20, (n) => createContact({ ...ctx, requestId: requests[n] ?? '' }, person(n)))
  const { rows } = await database.db.execute<{ email: string; requestId: string }>(sql`
    select data->>'email' as email, d.request_id as "requestId"
    from deliveries d join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.request_id in (${sql.join(
      requests.map((request) => sql`${request}`),
      sql`, `,
    )})`)
  const requestOf = new Map(rows.map(({ email, requestId }) => [email, requestId]))
  expect(requests.map((_, n) => requestOf.get(person(n).email))).toEqual(requests)
})

test('the event contains the same data as the response', async () => {
  for (const key of ['note', 'a']) await createCustomField(ctx, { key, label: key, type: 'TEXT', options: [] })
  const ugly = `%s "q" \\ {"createdAt":"x"} \u2028 🙂 </script>`
  const [plain, full] = await Promise.all([
    createContact(ctx, person(1)),
    createContact(ctx, {
      ...person(2),
      firstName: ugly,
      lastName: ugly,
      phone: '+1',
      company: ugly,
      customFieldValues: { note: ugly, a: 'b' },
      tags: ['b', ugly],
      source: ugly,
    }),
  ])
  const { rows } = await database.db.execute<{ id: string; data: unknown }>(
    sql`select contact_id as id, data from events where workspace_id = ${uuidOf(ctx.workspaceId)}`,
  )
  const eventData = new Map(rows.map(({ id, data }) => [id, data]))
  for (const contact of [plain, full]) expect(eventData.get(uuidOf(contact.id))).toEqual(contact)
})
