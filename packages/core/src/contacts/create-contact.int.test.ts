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
import { createCustomField } from './custom-fields/custom-fields.ts'
import { readContact } from './read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const person = (n: number) => ({ email: `person-${n}@example.com` })
const many = <Result>(count: number, work: (n: number) => Promise<Result>) =>
  Promise.allSettled(Array.from({ length: count }, (_, n) => work(n)))

test('those who are created at once are all there, each told once, in a few transactions', async () => {
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

test('what is wrong with one is the answer for that one, and the others are created', async () => {
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
    { reason: { code: 'conflict', details: { contactId: known.id } } },
    { reason: { code: 'invalid', message: 'customFieldValues.seats: must be a number' } },
    { reason: { code: 'invalid', message: 'customFieldValues.colour: Unknown custom field "colour"' } },
    { reason: { code: 'conflict' } },
    { value: { customFieldValues: { seats: 3 }, tags: ['a b', 'c"d'], phone: '+1', emailSubscribedStatus: 'NONE' } },
  ])
  expect(await listEventTypes(ctx)).toHaveLength(4)
})

test('one that the database refuses fails alone', async () => {
  // What no request can say, as the text of a request has no such character.
  const firstName = '\u0000'
  const results = await many(10, (n) => createContact(ctx, { ...person(n), ...(n === 5 && { firstName }) }))
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(results.map((_, n) => n !== 5))
  expect(await listEventTypes(ctx)).toHaveLength(9)
})

test('who reads in the same instant as another workspace reads its own contacts alone, and not the other’s by their ids', async () => {
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

test('who waits for an address that another transaction is taking holds up nobody else for long', async () => {
  const taken = Promise.withResolvers<void>()
  const isTaking = Promise.withResolvers<void>()
  const taking = inTransaction(ctx, async (ctx) => {
    await createContact(ctx, person(1))
    isTaking.resolve()
    await taken.promise
  })
  await isTaking.promise
  const second = createContact(ctx, person(1))
  // It is refused before that is waited for.
  second.catch(() => {})
  const elsewhere = await createTestCtx(database.db)
  expect(await createContact(elsewhere, person(1))).toMatchObject(person(1))
  expect(await createContact(ctx, person(2))).toMatchObject(person(2))
  taken.resolve()
  await taking
  await expect(second).rejects.toMatchObject({ code: 'conflict' })
})

test('who is refused, and for whom it cannot be found out who has the address, fails alone', async () => {
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

test('whoever creates contacts has the table of workspaces before those of events, as the upkeep of these', async () => {
  const one = openDatabase(database.url, { applicationName: 'rapport test', maxConnections: 1, onError: () => {} })
  onTestFinished(() => one.close())
  const events = sql`lock table events, deliveries, webhooks in access exclusive mode nowait`
  // As it is planned each time at first, and as it is planned for good.
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

test('in a workspace that has just gone nobody is created, and nobody else is kept from it', async () => {
  const gone = await createTestCtx(database.db)
  await database.db.execute(sql`delete from workspaces where id = ${uuidOf(gone.workspaceId)}`)
  const [first, second] = await Promise.allSettled([createContact(gone, person(1)), createContact(ctx, person(1))])
  expect([first, second]).toMatchObject([{ reason: { code: 'unavailable' } }, { value: person(1) }])
  expect(await listEventTypes(gone)).toEqual([])
})

test('a field whose values are just being written is held until they are', async () => {
  await createCustomField(ctx, { key: 'note', label: 'Note', type: 'TEXT', options: [] })
  const taking = await openTransaction(ctx.db, (db) => createContact({ ...ctx, db }, person(1)))
  const second = createContact(ctx, { ...person(1), customFieldValues: { note: 'hello' } })
  second.catch(() => {})
  await waitUntilBlocked(database.db)
  // As whoever clears the values of a removed field takes it.
  const free = sql`select from custom_fields where workspace_id = ${uuidOf(ctx.workspaceId)} for update skip locked`
  expect((await database.db.execute(free)).rowCount).toBe(0)
  await taking.commit()
  await expect(second).rejects.toMatchObject({ code: 'conflict' })
  expect((await database.db.execute(free)).rowCount).toBe(1)
})

test('what is told of each goes out by the request that asked for it', async () => {
  await createTestWebhook(ctx, { eventTypes: ['contact.created'] })
  const requests = Array.from({ length: 20 }, () => randomUUID())
  await many(20, (n) => createContact({ ...ctx, requestId: requests[n] ?? '' }, person(n)))
  const { rows } = await database.db.execute<{ email: string; requestId: string }>(sql`
    select data->>'email' as email, d.request_id as "requestId"
    from deliveries d join events e on e.id = d.event_id
    where d.request_id in (${sql.join(
      requests.map((request) => sql`${request}`),
      sql`, `,
    )})`)
  const requestOf = new Map(rows.map(({ email, requestId }) => [email, requestId]))
  expect(requests.map((_, n) => requestOf.get(person(n).email))).toEqual(requests)
})

test('what is told of a contact is what whoever created it was answered', async () => {
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
