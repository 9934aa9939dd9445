import { sql } from 'drizzle-orm'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTestContact, createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openImpatient, openTransaction, openUnrepeated, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { isDatabaseUnavailable } from '../../db/database-errors.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { type Contact, ContactInput } from '../contacts.schema.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'
import { readContact } from '../read-contact.ts'
import { upsertContact } from '../upsert-contact.ts'
import type { ContactBatch, ContactBatchResult } from './contact-batch.schema.ts'
import { writeContactBatch } from './write-contact-batch.ts'

const database = useTestDatabase()
let ctx: Ctx
const reported: unknown[] = []
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  reported.length = 0
})

async function write(contacts: unknown[], onConflict: ContactBatch['onConflict'] = 'fail', writer = ctx) {
  const { results } = await writeContactBatch(writer, { contacts, onConflict }, (error) => reported.push(error))
  return results
}

const statuses = (results: ContactBatchResult[]) => results.map(({ status }) => status)
const person = (n: number) => ({ email: `person-${n}@example.com`, firstName: `Person ${n}` })
const people = (count: number) => Array.from({ length: count }, (_, n) => person(n))

async function eventsOf(ctx: Ctx): Promise<{ type: string; data: Contact }[]> {
  const { rows } = await database.db.execute<{ type: string; data: Contact }>(
    sql`select type, data from events where workspace_id = ${uuidOf(ctx.workspaceId)} order by id`,
  )
  return rows
}

test('creates the contacts in one transaction, with one event each', async () => {
  const results = await write(people(100))
  expect(results).toMatchObject(people(100).map((contact) => ({ status: 'CREATED', contact })))
  const events = await eventsOf(ctx)
  expect(events).toEqual(
    results.map((result) => ({ type: 'contact.created', data: 'contact' in result && result.contact })),
  )
  const { rows } = await database.db.execute<{ transactions: number }>(
    sql`select count(distinct transaction_id)::int as transactions from events where workspace_id = ${uuidOf(ctx.workspaceId)}`,
  )
  expect(rows).toEqual([{ transactions: 1 }])
})

test('an existing contact fails with its id, is skipped, or is updated', async () => {
  const known = await createTestContact(ctx, { ...person(1), company: 'Acme', tags: ['a'] })
  const batch = [person(0), { email: 'PERSON-1@example.com', firstName: 'Changed', tags: ['b'] }]
  expect(await write(batch)).toMatchObject([
    { status: 'CREATED' },
    { status: 'FAILED', code: 'already_exists', message: 'Contact already exists', contactId: known.id },
  ])
  expect(await write(batch.slice(1), 'skip')).toEqual([{ status: 'SKIPPED', contact: known }])
  const [updated] = await write(batch.slice(1), 'update')
  const contact = { ...known, firstName: 'Changed', tags: ['b'], updatedAt: expect.any(String) }
  expect(updated).toEqual({ status: 'UPDATED', contact })
  expect(await readContact(ctx, known.id)).toEqual(contact)
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.created', 'contact.updated'])
})

test('an update equals PUT /contacts for every field', async () => {
  for (const key of ['plan', 'size']) await createCustomField(ctx, { key, label: key, type: 'TEXT', options: [] })
  const before = { lastName: 'Before', phone: '+1', tags: ['a'], customFieldValues: { plan: 'free', size: 'S' } }
  const changes = [
    { firstName: '' },
    { phone: null, company: '', tags: [], source: 'fair' },
    { customFieldValues: { plan: null, size: 'L' } },
    {},
  ]
  const pairs = await Promise.all(
    changes.map(async (change, n) => {
      const [one, other] = [`one-${n}@example.com`, `other-${n}@example.com`]
      for (const email of [one, other]) await createTestContact(ctx, { ...before, email })
      const { contact } = await upsertContact(ctx, ContactInput.parse({ ...change, email: one }))
      return { expected: contact, entry: { ...change, email: other } }
    }),
  )
  const results = await write(
    pairs.map(({ entry }) => entry),
    'update',
  )
  const statuses = ['UNCHANGED', 'UPDATED', 'UPDATED', 'UNCHANGED']
  const same = { id: expect.any(String), createdAt: expect.any(String), updatedAt: expect.any(String) }
  expect(results).toEqual(
    pairs.map(({ expected, entry }, n) => ({
      status: statuses[n],
      contact: { ...expected, ...same, email: entry.email },
    })),
  )
})

test('an update that changes nothing is UNCHANGED and emits no event', async () => {
  const known = await createTestContact(ctx, person(1))
  expect(await write([person(1)], 'update')).toEqual([{ status: 'UNCHANGED', contact: known }])
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
})

test('entries with the same email take effect one after the other', async () => {
  const entries = [person(1), { email: 'Person-1@Example.com', lastName: 'Two' }, { ...person(1), firstName: 'Three' }]
  const [first] = await write(entries, 'fail')
  const id = first?.status === 'CREATED' ? first.contact.id : undefined
  const other = await createTestCtx(database.db)
  const failed = { status: 'FAILED', code: 'already_exists' }
  expect(await write(entries, 'fail', other)).toMatchObject([{ status: 'CREATED' }, failed, failed])
  const skipped = { status: 'SKIPPED', contact: { id, firstName: 'Person 1', lastName: '' } }
  expect(await write(entries, 'skip')).toMatchObject([skipped, skipped, skipped])
  const third = await createTestCtx(database.db)
  expect(await write(entries, 'update', third)).toMatchObject([
    { status: 'CREATED', contact: person(1) },
    { status: 'UPDATED', contact: { ...person(1), lastName: 'Two' } },
    { status: 'UPDATED', contact: { firstName: 'Three', lastName: 'Two' } },
  ])
  expect(await listEventTypes(third)).toEqual(['contact.created', 'contact.updated', 'contact.updated'])
})

test('an invalid entry fails with its issues, and the others are written', async () => {
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const results = await write([
    person(0),
    { email: 'not an address', first_name: 'Ada' },
    {},
    null,
    [person(9)],
    'ada@example.com',
    { ...person(8), customFieldValues: { seats: 'many', seat: 1 } },
    { ...person(1), customFieldValues: { seats: 3, gone: null } },
  ])
  const invalid = (message: string, ...issues: { path: string; message: string }[]) => ({
    status: 'FAILED',
    code: 'validation_error',
    message,
    issues,
  })
  const address = { path: 'email', message: 'must be an email address such as ada@example.com' }
  const [required, object] = [
    { path: 'email', message: 'is required' },
    { path: '', message: 'must be an object' },
  ]
  expect(results).toMatchObject([
    { status: 'CREATED' },
    invalid(`email: ${address.message}`, address, {
      path: 'first_name',
      message: 'unknown field (did you mean "firstName"?)',
    }),
    invalid('email: is required', required),
    invalid('must be an object', object),
    invalid('must be an object', object),
    invalid('must be an object', object),
    invalid(
      'customFieldValues.seat: unknown custom field (did you mean "seats"?)',
      { path: 'customFieldValues.seat', message: 'unknown custom field (did you mean "seats"?)' },
      { path: 'customFieldValues.seats', message: 'must be a number' },
    ),
    { status: 'CREATED', contact: { customFieldValues: { seats: 3 } } },
  ])
  expect(await listEventTypes(ctx)).toHaveLength(2)
})

/** Makes the database reject contacts with this first name. */
async function rejectFirstName(firstName: string) {
  const name = `reject_${firstName}`
  await database.db.execute(
    sql.raw(`alter table contacts add constraint ${name} check (first_name <> '${firstName}') not valid`),
  )
  onTestFinished(async () => void (await database.db.execute(sql.raw(`alter table contacts drop constraint ${name}`))))
}

test('a contact that the database rejects fails alone and is reported', async () => {
  const known = await createTestContact(ctx, person(3))
  await rejectFirstName('Rejected')
  const entries = [person(9), person(1), { ...person(1), firstName: 'Rejected' }, { ...person(3), firstName: 'New' }]
  const results = await write(entries, 'update')
  expect(statuses(results)).toEqual(['CREATED', 'CREATED', 'FAILED', 'UPDATED'])
  expect(results[2]).toEqual({ status: 'FAILED', code: 'internal_error', message: 'The contact cannot be stored' })
  expect(reported).toHaveLength(1)
  expect(await readContact(ctx, known.id)).toMatchObject({ firstName: 'New' })
  expect((await listEventTypes(ctx)).toSorted()).toEqual([
    'contact.created',
    'contact.created',
    'contact.created',
    'contact.updated',
  ])
})

test('a rejected contact does not end the transaction of an Idempotency-Key', async () => {
  await rejectFirstName('Refused')
  const entries = [person(1), { ...person(2), firstName: 'Refused' }]
  const results = await inTransaction(ctx, (ctx) => write(entries, 'fail', ctx))
  expect(statuses(results)).toEqual(['CREATED', 'FAILED'])
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
})

test('if the database becomes unavailable, nothing is written', async () => {
  const blocker = await openTransaction(ctx.db, (db) => db.execute(sql`lock table events in access exclusive mode`))
  const writing = write(people(5))
  writing.catch(() => {})
  await waitUntilBlocked(database.db)
  await database.db.execute(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  )
  await expect(writing).rejects.toThrow()
  await blocker.commit()
  expect(await listEventTypes(ctx)).toEqual([])
  expect(statuses(await write(people(5)))).toEqual(Array(5).fill('CREATED'))
})

test.each(['fail', 'skip', 'update'] as const)(
  'concurrent batches in opposite order do not deadlock: %s',
  async (onConflict) => {
    for (const n of [3, 13, 23]) await createTestContact(ctx, person(n))
    const unrepeated = { ...ctx, db: openUnrepeated(database) }
    const batches = await Promise.all(
      Array.from({ length: 6 }, (_, n) => {
        const entries = people(30).map((contact) => ({ ...contact, lastName: `Batch ${n}` }))
        return write(n % 2 ? entries : entries.toReversed(), onConflict, unrepeated)
      }),
    )
    const results = batches.flat()
    expect(results.filter(({ status }) => status === 'CREATED')).toHaveLength(27)
    const rest = { fail: 'FAILED', skip: 'SKIPPED', update: 'UPDATED' }[onConflict]
    expect(new Set(statuses(results))).toEqual(new Set(['CREATED', rest]))
    expect(results.filter((result) => 'code' in result && result.code !== 'already_exists')).toEqual([])
    const types = await listEventTypes(ctx)
    expect(types.filter((type) => type === 'contact.created')).toHaveLength(30)
    expect(types).toHaveLength(onConflict === 'update' ? 3 + 6 * 30 : 30)
    expect(reported).toEqual([])
  },
)

test('if a lock takes too long, nothing is written', async () => {
  const known = await createTestContact(ctx, person(5))
  const blocker = await openTransaction(ctx.db, (db) =>
    db.execute(
      sql`select from contacts where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(known.id)} for update`,
    ),
  )
  const writing = write(people(10), 'update', { ...ctx, db: openImpatient(database) })
  await expect(writing).rejects.toSatisfy(isDatabaseUnavailable)
  await blocker.commit()
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
})

test('a contact that is deleted while the batch waits for it is created again', async () => {
  const known = await createTestContact(ctx, person(1))
  const deleting = await openTransaction(ctx.db, (db) =>
    db.execute(sql`delete from contacts where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(known.id)}`),
  )
  const writing = write([person(1), person(2)], 'update')
  await waitUntilBlocked(database.db)
  await deleting.commit()
  expect(statuses(await writing)).toEqual(['CREATED', 'CREATED'])
})

test('a contact of another workspace is invisible', async () => {
  const other = await createTestCtx(database.db)
  const theirs = await createTestContact(other, person(1))
  for (const onConflict of ['fail', 'skip', 'update'] as const) {
    const own = await createTestCtx(database.db)
    const [result] = await write([{ ...person(1), firstName: 'Taken over' }], onConflict, own)
    expect(result).toMatchObject({ status: 'CREATED', contact: { firstName: 'Taken over' } })
  }
  expect(await readContact(other, theirs.id)).toEqual(theirs)
})
