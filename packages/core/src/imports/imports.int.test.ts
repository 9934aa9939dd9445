import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { deleteCustomField } from '../operations/webhooks/delete-custom-field.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import {
  addSubscribers,
  createTestContact,
  createTestList,
  createTestWebhook,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { countRows, runTestImport, queueTestImport, runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { readSubscriber, removeSubscriber } from '../lists/subscribers.ts'
import type { Subscription } from '../consent/subscriptions.schema.ts'
import { readImport } from './imports.ts'
import { readContact } from '../contacts/read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

describe('imported rows', () => {
  test('creates new contacts in file order and skips existing ones', async () => {
    const known = await createTestContact(ctx, { email: 'Grace@example.com', firstName: 'Grace' })
    const record = await runTestImport(
      ctx,
      'email,first name\nzoe@example.com,Zoë\ngrace@EXAMPLE.com,Other\nada@example.com,Ada',
    )
    expect(record).toMatchObject({ status: 'COMPLETED', processed: 3, created: 2, updated: 0, skipped: 1, failed: 0 })
    expect(await readContact(ctx, known.id)).toEqual(known)
    const { data } = await listContacts(ctx, ContactQuery.parse({ sort: 'createdAt' }))
    expect(data.map((contact) => contact.firstName)).toEqual(['Grace', 'Zoë', 'Ada'])
    expect(data[2]).toMatchObject({
      email: 'ada@example.com',
      lastName: '',
      phone: null,
      company: null,
      source: null,
      tags: [],
      customFieldValues: {},
      emailSubscribedStatus: 'NONE',
      lastActivityAt: null,
    })
  })

  test('update sets the given values, keeps the rest, and adds tags', async () => {
    await defineFields()
    const { id } = await createTestContact(ctx, {
      email: 'Ada@example.com',
      firstName: 'Ada',
      lastName: 'King',
      company: 'Engines',
      tags: ['a', 'b'],
      customFieldValues: { plan: 'free', seats: 3 },
    })
    const file = 'email,firstName,lastName,phone,tags,plan\nada@example.com,,Lovelace,123,c;b,pro\n'
    expect(await runTestImport(ctx, file, { onConflict: 'update' })).toMatchObject({
      created: 0,
      updated: 1,
      skipped: 0,
    })
    expect(await readContact(ctx, id)).toMatchObject({
      email: 'Ada@example.com',
      firstName: 'Ada',
      lastName: 'Lovelace',
      phone: '123',
      company: 'Engines',
      tags: ['a', 'b', 'c'],
      customFieldValues: { plan: 'pro', seats: 3 },
    })
  })

  test('a no-op update writes nothing', async () => {
    await defineFields()
    const values = { firstName: 'Ada', tags: ['a', 'b'], customFieldValues: { plan: 'free', seats: 3 } }
    const known = await createTestContact(ctx, { email: 'ada@example.com', ...values })
    const file = 'email,firstName,tags,plan,seats\nADA@example.com,Ada,b,free,3.0\n'
    expect(await runTestImport(ctx, file, { onConflict: 'update' })).toMatchObject({ updated: 0, skipped: 1 })
    expect(await readContact(ctx, known.id)).toEqual(known)
  })

  test.each([
    ['skip', { created: 1, updated: 0, skipped: 3 }, { firstName: 'One', company: null }],
    ['update', { created: 1, updated: 2, skipped: 1 }, { firstName: 'Three', company: 'C' }],
  ])('rows with the same email take effect in order on %s', async (onConflict, counts, contact) => {
    const rows = ['ada@example.com,One,', 'ADA@example.com,Two,C', 'Ada@Example.com,Three,', 'ada@example.com,,C']
    const record = await runTestImport(ctx, `email,firstName,company\n${rows.join('\n')}`, { onConflict })
    expect(record).toMatchObject({ processed: 4, failed: 0, ...counts })
    expect(await readContacts()).toMatchObject([contact])
  })

  test('rejects only the rows that would exceed 100 tags', async () => {
    const tags = Array.from({ length: 99 }, (_, index) => `tag ${index}`)
    for (const name of ['ada', 'grace']) await createTestContact(ctx, { email: `${name}@example.com`, tags })
    const file = 'email,tags\nada@example.com,new 1;new 2\ngrace@example.com,new 1;tag 7'
    expect(await runTestImport(ctx, file, { onConflict: 'update' })).toMatchObject({
      updated: 1,
      failed: 1,
      errors: [{ line: 2, message: 'tags: a contact can have at most 100 tags' }],
    })
  })

  test('validates NDJSON like POST /contacts', async () => {
    await defineFields()
    const people = [
      { email: 'ada@example.com', firstName: 'Ada', tags: ['a;b'], customFieldValues: { seats: 3 } },
      { email: 'grace@example.com', nothing: 1 },
    ]
    const file = `\ufeff${people.map((person) => JSON.stringify(person)).join('\r\n')}`
    expect(await runTestImport(ctx, file, { format: 'ndjson' })).toMatchObject({
      format: 'ndjson',
      created: 1,
      errors: [{ line: 2, message: 'nothing: unknown field' }],
    })
    expect(await readContacts()).toMatchObject([{ tags: ['a;b'], customFieldValues: { seats: 3 } }])
  })

  test('counts all invalid rows and reports the first 100 with their lines', async () => {
    const faults = Array.from({ length: 150 }, (_, index) => `fault ${index}\n`)
    const record = await runTestImport(ctx, ['email\nada@example.com\n', ...faults, 'grace@example.com\n'])
    expect(record).toMatchObject({ status: 'COMPLETED', processed: 152, created: 2, failed: 150 })
    expect(record.errors).toHaveLength(100)
    expect([record.errors[0]?.line, record.errors.at(-1)?.line]).toEqual([3, 102])
    expect(JSON.stringify(record.errors)).not.toContain('fault')
  })

  test('a file with only a header imports no contacts', async () => {
    expect(await runTestImport(ctx, 'email,company\r\n')).toMatchObject({
      status: 'COMPLETED',
      processed: 0,
      errors: [],
    })
  })

  test('fails rows with a value of a deleted custom field', async () => {
    const [plan] = await defineFields()
    const { id } = await queueTestImport(ctx, 'email,plan\nada@example.com,pro\ngrace@example.com,\n')
    await deleteCustomField(ctx, plan?.id ?? newId('cfd'))
    await runQueuedImport(ctx, id)
    expect(await readImport(ctx, id)).toMatchObject({ created: 1, failed: 1 })
  })

  test('concurrent imports in opposite orders create each contact once', async () => {
    const count = countRuns({ gate: 2_000, full: 5_000 })
    const emails = Array.from({ length: count }, (_, index) => `person${index}@example.com`)
    const list = await createTestList(ctx)
    const records = await Promise.all(
      [emails, emails.toReversed()].map((order) =>
        runTestImport(ctx, `email\n${order.join('\n')}`, { listId: list.id }),
      ),
    )
    expect(records.map((record) => record.processed)).toEqual([count, count])
    expect(records.reduce((sum, record) => sum + record.created, 0)).toBe(count)
    expect(records.reduce((sum, record) => sum + record.skipped, 0)).toBe(count)
    expect(await countRows(ctx, 'contacts')).toBe(count)
    expect(await countRows(ctx, 'subscriptions')).toBe(count)
  })
})

describe('a dry run', () => {
  test.each(['skip', 'update'])(
    'counts what an import on %s would do, without writing or emitting',
    async (onConflict) => {
      const known = await createTestContact(ctx, { email: 'known0@example.com' })
      await createTestContact(ctx, { email: 'known1@example.com', firstName: 'New' })
      // The second half repeats the emails of the first half.
      const emails = Array.from(
        { length: 900 },
        (_, index) => `${index < 4 ? 'known' : 'new'}${index % 450}@example.com`,
      )
      const rows = emails.map((email, index) => `${email},New,${index < 450 ? '' : 'Engines'}\n`)
      const file = ['email,first name,company\n', ...rows, 'invalid\n']
      const dry = await runTestImport(ctx, file, { onConflict, dryRun: 'true' })
      expect(await readContact(ctx, known.id)).toEqual(known)
      expect(await countRows(ctx, 'contacts')).toBe(2)
      expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.created'])
      const real = await runTestImport(ctx, file, { onConflict })
      const counts = ({ processed, created, updated, skipped, failed, errors }: typeof dry) => {
        return { processed, created, updated, skipped, failed, errors }
      }
      expect(counts(dry)).toEqual(counts(real))
      expect(dry).toMatchObject({ dryRun: true, status: 'COMPLETED', failed: 1 })
    },
  )

  test('counts a row again that repeats an address of an earlier chunk', async () => {
    const rows = Array.from({ length: 2_000 }, (_, n) => `ada${n % 1_000}@example.com\n`)
    expect(await runTestImport(ctx, ['email\n', ...rows], { dryRun: 'true' })).toMatchObject({ created: 2_000 })
  })
})

describe('events', () => {
  const file = 'email\nada@example.com\ngrace@example.com\nada@example.com\n'

  test('emits import.completed and no event per row', async () => {
    await createTestWebhook(ctx, { eventTypes: ['*'] })
    const record = await runTestImport(ctx, file)
    expect(await listEventTypes(ctx)).toEqual(['import.completed'])
    const events = await database.db.execute(
      sql`select data from events where workspace_id = ${uuidOf(ctx.workspaceId)}`,
    )
    expect(events.rows).toEqual([{ data: record }])
    expect(await countRows(ctx, 'deliveries')).toBe(1)
  })

  test('events=each emits contact.created once per new contact', async () => {
    await createTestContact(ctx, { email: 'grace@example.com' })
    await createTestWebhook(ctx)
    await createTestWebhook(ctx, { eventTypes: ['contact.deleted'] })
    await runTestImport(ctx, `${file}new@example.com`, { events: 'each' })
    expect(await listEventTypes(ctx)).toEqual([
      'contact.created',
      'contact.created',
      'contact.created',
      'import.completed',
    ])
    const [, ...created] = await readEvents('contact.created')
    const contacts = await readContacts()
    const shown = ['ada@example.com', 'new@example.com'].map((email) =>
      contacts.find((contact) => contact.email === email),
    )
    expect(created.map((event) => event.data)).toEqual(shown)
    expect(created.map((event) => event.contact_id)).toEqual(
      shown.map((contact) => uuidOf(contact?.id ?? newId('con'))),
    )
    expect(await countRows(ctx, 'deliveries')).toBe(2)
    expect(await listPendingWork(ctx, 'webhooks')).toHaveLength(2)
  })

  test('events=each emits contact.updated for each row that changes a contact', async () => {
    for (const name of ['ada', 'grace']) await createTestContact(ctx, { email: `${name}@example.com`, firstName: name })
    const rows = 'ada,Ada\ngrace,grace\nada,Augusta\nnew,New\nnew,Newer'.replaceAll(',', '@example.com,')
    const options = { events: 'each', onConflict: 'update' }
    expect(await runTestImport(ctx, `email,firstName\n${rows}`, options)).toMatchObject({ created: 1, updated: 3 })
    const [ada, , added] = await readContacts()
    expect([ada?.firstName, added?.firstName]).toEqual(['Augusta', 'Newer'])
    const updated = (await readEvents('contact.updated')).map((event) => event.data)
    expect(updated).toMatchObject([{ firstName: 'Ada' }, { firstName: 'Augusta' }, { firstName: 'Newer' }])
    expect(updated.slice(1)).toEqual([
      { ...ada, changes: { firstName: { from: 'Ada', to: 'Augusta' } } },
      { ...added, changes: { firstName: { from: 'New', to: 'Newer' } } },
    ])
    expect((await readEvents('contact.created')).at(-1)?.data).toMatchObject({ id: added?.id, firstName: 'New' })
  })

  test('events=each emits the events of each subscription that changes', async () => {
    const list = await createTestList(ctx)
    const add = async (name: string, status: Subscription['status']) =>
      (await addSubscribers(ctx, list.id, { count: 1, status, name }))[0] ?? newId('con')
    const pending = await add('pending', 'PENDING')
    const removed = await add('removed', 'CONFIRMED')
    await removeSubscriber(ctx, list.id, removed)
    for (const status of ['CONFIRMED', 'UNSUBSCRIBED'] as const) await add(status.toLowerCase(), status)
    const known = await createTestContact(ctx, { email: 'known-1@example.com' })
    const names = ['pending', 'removed', 'confirmed', 'unsubscribed', 'known', 'new', 'new']
    const emails = names.map((name) => `${name}-1@example.com\n`).join('')
    for (const _ of ['first', 'again']) {
      await runTestImport(ctx, `email\n${emails}`, { events: 'each', listId: list.id })
      const added = (await readContacts()).find(({ email }) => email === 'new-1@example.com')?.id
      const created = await readEvents('subscription.created')
      const confirmed = await readEvents('subscription.confirmed')
      const idsOf = (events: typeof created) => events.map((event) => event.data['contactId'])
      expect(idsOf(created)).toEqual([removed, known.id, added])
      expect(idsOf(confirmed)).toEqual([pending, removed, known.id, added])
      const subscriptions = await Promise.all(
        [pending, removed, known.id].map((id) => readSubscriber(ctx, list.id, id)),
      )
      expect(confirmed.map((event) => event.data)).toEqual(expect.arrayContaining(subscriptions))
    }
  })
})

async function readEvents(type: string) {
  const { rows } = await database.db.execute<{ data: Record<string, unknown>; contact_id: string }>(sql`
    select data, contact_id from events where workspace_id = ${uuidOf(ctx.workspaceId)} and type = ${type}
    order by created_at, id`)
  return rows
}

async function defineFields() {
  return [
    await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro'] }),
    await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] }),
  ]
}

async function readContacts() {
  return (await listContacts(ctx, ContactQuery.parse({ limit: '100', sort: 'createdAt' }))).data
}
