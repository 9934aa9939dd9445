import { asc, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { clearNextBatch } from '../custom-fields/clear-custom-field.ts'
import { createCustomField, listCustomFields } from '../custom-fields/custom-fields.ts'
import { CustomFieldInput, CustomFieldQuery } from '../custom-fields/custom-fields.schema.ts'
import { deliveries, events } from '../db/schema/index.ts'
import { type ContactId, type CustomFieldId, uuidOf } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { eraseNextStep } from '../operations/contacts/erase-contact.ts'
import { writePersonJson } from '../operations/contacts/export-person.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { deleteCustomField } from '../operations/webhooks/delete-custom-field.ts'
import { createWebhook } from '../operations/webhooks/save-webhook.ts'
import { createSegment } from '../segments/segments.ts'
import { readWebhook } from '../webhooks/webhooks.ts'
import { WebhookInput } from '../webhooks/webhooks.schema.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx, createTestDeal } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { DealChange, type DealInput, DealQuery } from './deals.schema.ts'
import { listDeals } from './list-deals.ts'
import { readDeal, updateDeal } from './update-deal.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const define = (input: Partial<CustomFieldInput> & { key: string }) =>
  createCustomField(ctx, CustomFieldInput.parse({ object: 'DEAL', label: input.key, type: 'TEXT', ...input }))

let note: { id: CustomFieldId }
beforeEach(async () => {
  note = await define({ key: 'note' })
  await define({ key: 'seats', type: 'NUMBER' })
  await define({ key: 'plan', type: 'SELECT', options: ['free', 'pro'] })
  await define({ key: 'startsOn', type: 'DATE' })
})

const values = { note: 'Call Adalina', seats: 25, plan: 'pro', startsOn: '2026-12-01' }
const createDeal = (customFieldValues: DealInput['customFieldValues'] = values, contactId?: ContactId) =>
  createTestDeal(ctx, { customFieldValues, ...(contactId && { contactId }) })

async function erase(id: ContactId): Promise<void> {
  await deleteContact(ctx, id)
  while ((await eraseNextStep(ctx, uuidOf(id))) !== 'done');
}

/** Does the work of the worker. */
async function clear(id: CustomFieldId): Promise<void> {
  while (await clearNextBatch(ctx, id));
}

async function readEvents() {
  const rows = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId)).orderBy(asc(events.id))
  return rows.map(({ type, data }) => ({ type, data }))
}

/** The columns that contain a text. */
async function findColumns(text: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns join pg_class on relname = table_name
     where table_schema = 'public' and relkind in ('r', 'p') and not relispartition order by 1, 2`,
  )
  const found: string[] = []
  for (const { table, column } of rows) {
    const { rows } = await database.pool.query(
      `select from "${table}" where "${column}"::text ilike '%' || $1 || '%' limit 1`,
      [text],
    )
    if (rows.length > 0) found.push(`${table}.${column}`)
  }
  return found
}

test('values are set, merged and removed, each change in one event', async () => {
  const { id, customFieldValues } = await createDeal()
  expect(customFieldValues).toEqual(values)
  const change = { customFieldValues: { note: null, seats: 30 } }
  const updated = await updateDeal(ctx, id, change)
  expect(updated.customFieldValues).toEqual({ plan: 'pro', seats: 30, startsOn: '2026-12-01' })
  expect(await readDeal(ctx, id)).toEqual(updated)
  expect(await updateDeal(ctx, id, change)).toEqual(updated)
  const changes = {
    'customFieldValues.note': { from: 'Call Adalina', to: null },
    'customFieldValues.seats': { from: 25, to: 30 },
  }
  const ofDeal = (await readEvents()).filter(({ type }) => type.startsWith('deal.'))
  expect(ofDeal.slice(1)).toEqual([{ type: 'deal.updated', data: { ...updated, changes } }])
})

test.each([
  ['an unknown key', { pln: 'pro' }, 'unknown custom field (did you mean "plan"?)'],
  ['a wrong type', { seats: '25' }, 'must be a number'],
  ['an inexact number', { seats: 2 ** 53 }, expect.stringContaining('exact')],
  ['an unknown option', { plan: 'gold' }, 'must be one of free, pro'],
  ['an impossible date', { startsOn: '2026-02-30' }, expect.any(String)],
  ['a control character', { note: 'a\u0000b' }, expect.any(String)],
  ['a key of every object', { constructor: 'a' }, 'unknown custom field'],
])('%s is rejected, with its path', async (_name, customFieldValues, message) => {
  const path = `customFieldValues.${Object.keys(customFieldValues).join()}`
  const error = { code: 'validation_error', issues: [{ path, message }] }
  await expect(createDeal(customFieldValues)).rejects.toMatchObject(error)
  const { id } = await createDeal({})
  await expect(updateDeal(ctx, id, { customFieldValues })).rejects.toMatchObject(error)
})

test('the fields of another workspace are unknown, and not suggested', async () => {
  const other = await createTestCtx(database.db)
  const { id } = await createTestDeal(other)
  const unknown = { issues: [{ message: 'unknown custom field' }] }
  for (const key of ['seats', 'seat']) {
    await expect(createTestDeal(other, { customFieldValues: { [key]: 1 } })).rejects.toMatchObject(unknown)
    await expect(updateDeal(other, id, { customFieldValues: { [key]: 1 } })).rejects.toMatchObject(unknown)
    const listing = listDeals(other, DealQuery.parse({ [`customField.${key}`]: '1' }))
    await expect(listing).rejects.toThrow(new RegExp(`^customField.${key}: unknown custom field$`))
  }
  await createCustomField(other, { object: 'DEAL', key: 'seats', label: 'Seats', type: 'TEXT', options: [] })
  expect((await listDeals(other, DealQuery.parse({ 'customField.seats': '25' }))).data).toEqual([])
})

test('a deal has at most 16 KiB of values, and the bodies have limits', async () => {
  for (let n = 0; n < 9; n++) await define({ key: `long${n}` })
  const long = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`long${n}`, 'a'.repeat(1_999)]))
  await expect(createDeal(long)).rejects.toThrow('can have at most 16 KiB')
  const { id } = await createDeal({ note: 'short' })
  await expect(updateDeal(ctx, id, { customFieldValues: long })).rejects.toThrow('can have at most 16 KiB')
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, 1]))
  for (const customFieldValues of [many, [], 'a', { a: { b: 1 } }, null])
    expect(DealChange.safeParse({ customFieldValues }).success).toBe(false)
})

test('deals are filtered by their values, as text of a query', async () => {
  const { id } = await createDeal()
  await createDeal({ seats: 26, plan: 'pro' })
  await createDeal({})
  const find = async (query: Record<string, string>) => (await listDeals(ctx, DealQuery.parse(query))).data
  expect((await find({ 'customField.seats': '25' })).map((deal) => deal.id)).toEqual([id])
  expect(await find({ 'customField.plan': 'pro' })).toHaveLength(2)
  expect(await find({ 'customField.plan': 'pro', 'customField.note': 'Call Adalina', status: 'OPEN' })).toHaveLength(1)
  expect(await find({ 'customField.plan': 'free' })).toEqual([])
  const ugly = { 'customField.nope': 'a', 'customField.seats': 'many', 'customField.plan': 'gold', 'customField.': 'a' }
  for (const [name, value] of Object.entries(ugly))
    await expect(find({ [name]: value })).rejects.toMatchObject({ issues: [{ path: name }] })
  expect(DealQuery.safeParse({ customfield: 'a' }).success).toBe(false)
})

describe('two objects with the same key', () => {
  let contactId: ContactId
  beforeEach(async () => {
    await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'NUMBER', options: [] })
    contactId = (await createTestContact(ctx, { customFieldValues: { plan: 7 } })).id
  })

  test('have a type of their own, and each key is unique in its object', async () => {
    const deal = await createDeal({ plan: 'pro' }, contactId)
    expect(deal.customFieldValues).toEqual({ plan: 'pro' })
    await expect(createDeal({ plan: 7 })).rejects.toThrow('customFieldValues.plan: must be a string')
    await expect(updateContact(ctx, contactId, { customFieldValues: { plan: 'pro' } })).rejects.toThrow('a number')
    await expect(define({ key: 'plan' })).rejects.toMatchObject({ code: 'already_exists' })
    const list = async (query: object) => (await listCustomFields(ctx, CustomFieldQuery.parse(query))).data
    expect((await list({ object: 'CONTACT' })).map(({ key }) => key)).toEqual(['plan'])
    expect(await list({ object: 'DEAL' })).toHaveLength(4)
    expect(await list({})).toHaveLength(5)
  })

  test('contacts and segments do not see the fields of deals', async () => {
    await expect(createTestContact(ctx, { customFieldValues: { seats: 1 } })).rejects.toThrow('unknown custom field')
    const listing = listContacts(ctx, ContactQuery.parse({ 'customField.seats': '1' }))
    await expect(listing).rejects.toThrow('unknown custom field')
    const segment = createSegment(ctx, { name: 'Large', filter: { field: 'customFieldValues.seats', gte: 1 } })
    await expect(segment).rejects.toThrow('unknown field')
  })

  test('the deletion of one clears its own values only', async () => {
    const deal = await createDeal({ plan: 'pro', seats: 1 }, contactId)
    const { data } = await listCustomFields(ctx, CustomFieldQuery.parse({ object: 'DEAL' }))
    const plan = data.find(({ key }) => key === 'plan')
    if (!plan) throw new Error('The field is missing')
    await deleteCustomField(ctx, plan.id)
    await expect(createDeal({ plan: 'pro' })).rejects.toThrow('unknown custom field')
    await expect(define({ key: 'plan' })).rejects.toThrow('is still being removed')
    await clear(plan.id)
    expect((await readDeal(ctx, deal.id)).customFieldValues).toEqual({ seats: 1 })
    expect((await readContact(ctx, contactId)).customFieldValues).toEqual({ plan: 7 })
    await define({ key: 'plan' })
  })

  test('the deletion of one disables the webhooks that filter by it only', async () => {
    const filter = { changed: ['customFieldValues.plan'] }
    const create = (eventTypes: string[], by: unknown = filter) =>
      createWebhook(ctx, WebhookInput.parse({ url: 'https://example.com/hook', eventTypes, filter: by }))
    const webhooks = [
      await create(['contact.updated']),
      await create(['deal.updated']),
      await create(['contact.updated', 'deal.updated']),
    ]
    const ofDeals = { changed: ['customFieldValues.seats'] }
    await create(['deal.updated'], ofDeals)
    for (const types of [['contact.updated'], ['contact.updated', 'deal.updated']])
      await expect(create(types, ofDeals)).rejects.toThrow('unknown custom field')
    const { data } = await listCustomFields(ctx, CustomFieldQuery.parse({ object: 'CONTACT' }))
    for (const { id } of data) await deleteCustomField(ctx, id)
    const enabled = await Promise.all(webhooks.map(async ({ id }) => (await readWebhook(ctx, id)).enabled))
    expect(enabled).toEqual([false, true, false])
  })

  test('a webhook gets the changes of the named value of deals', async () => {
    const input = { eventTypes: ['deal.updated'], filter: { changed: ['customFieldValues.plan'] } }
    await createWebhook(ctx, WebhookInput.parse({ url: 'https://example.com/hook', ...input }))
    const { id } = await createDeal({ plan: 'free' }, contactId)
    await updateDeal(ctx, id, { customFieldValues: { seats: 3 } })
    await updateDeal(ctx, id, { customFieldValues: { plan: 'pro' } })
    expect(await ctx.db.$count(deliveries, eq(deliveries.workspaceId, ctx.workspaceId))).toBe(1)
  })
})

test('a value that is written while its field is deleted is cleared', async () => {
  const { id } = await createDeal({})
  const writing = await openTransaction(ctx.db, (db) => updateDeal({ ...ctx, db }, id, { customFieldValues: values }))
  await deleteCustomField(ctx, note.id)
  const clearing = clear(note.id)
  await waitUntilBlocked(database.db)
  await writing.commit()
  await clearing
  expect((await readDeal(ctx, id)).customFieldValues).toEqual({ plan: 'pro', seats: 25, startsOn: '2026-12-01' })
})

test('a field is cleared while a contact with many deals is deleted', async () => {
  const { id: contactId } = await createTestContact(ctx)
  const made = await Promise.all(Array.from({ length: 60 }, () => createDeal({ note: 'short' }, contactId)))
  // In a large table, PostgreSQL deletes the deals of a contact in no order of their ids.
  await database.pool.query(`
    insert into deals (workspace_id, id, pipeline_id, stage_id, contact_id)
    select workspace_id, uuidv7(), pipeline_id, stage_id, uuidv7() from deals, generate_series(1, 200)`)
  await database.pool.query('analyze deals')
  await deleteCustomField(ctx, note.id)
  const [, second] = made.map(({ id }) => uuidOf(id)).toSorted()
  const writing = await openTransaction(ctx.db, (db) =>
    db.execute(sql`select from deals where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${second} for update`),
  )
  const clearing = clear(note.id)
  await waitUntilBlocked(database.db)
  const deleting = deleteContact(ctx, contactId)
  await waitUntilBlocked(database.db, 2)
  await writing.commit()
  await Promise.all([clearing, deleting])
  expect((await listDeals(ctx, DealQuery.parse({ contactId }))).data).toEqual([])
})

test('planted texts are found nowhere after an erasure, also of a removed field', async () => {
  const contact = await createTestContact(ctx)
  const removed = await define({ key: 'removed' })
  const texts = { ...values, note: 'Call Zephyrine', removed: 'Zephyrine too' }
  const [won, lost, open] = [
    await createDeal(texts, contact.id),
    await createDeal(texts, contact.id),
    await createDeal(texts, contact.id),
  ]
  await updateDeal(ctx, won.id, { status: 'WON', customFieldValues: { note: 'Zephyrine again' } })
  await updateDeal(ctx, lost.id, { status: 'LOST' })
  expect(await findColumns('zephyrine')).toEqual(['deals.custom_field_values', 'events.data'])
  await deleteCustomField(ctx, removed.id)
  await erase(contact.id)
  expect(await findColumns('zephyrine')).toEqual([])
  const kept = { plan: 'pro', seats: 25, startsOn: '2026-12-01' }
  for (const { id } of [won, lost]) expect((await readDeal(ctx, id)).customFieldValues).toEqual(kept)
  await expect(readDeal(ctx, open.id)).rejects.toMatchObject({ code: 'not_found' })
  const last = (await readEvents()).filter(({ data }) => (data as { id: string }).id === won.id).at(-1)
  expect(last).toMatchObject({ type: 'deal.updated', data: { customFieldValues: kept, changes: null } })
})

test('a merge keeps the values, and the export of the person has them', async () => {
  const [kept, duplicate] = [await createTestContact(ctx), await createTestContact(ctx)]
  const { id } = await createDeal(values, duplicate.id)
  const contact = await mergeContacts(ctx, kept.id, { contactId: duplicate.id })
  expect(await readDeal(ctx, id)).toMatchObject({ contactId: kept.id, customFieldValues: values })
  const parts: string[] = []
  for await (const part of writePersonJson(ctx, contact)) parts.push(part)
  const { deals } = JSON.parse(parts.join('')) as { deals: unknown[] }
  expect(deals).toMatchObject([{ id, customFieldValues: values }])
})
