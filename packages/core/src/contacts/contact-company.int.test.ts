import { and, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { companies, contacts, events } from '../db/schema/index.ts'
import { type CompanyId, newId } from '../kernel/ids.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Ctx } from '../request/context.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { writeContactBatch } from './batch/write-contact-batch.ts'
import { createContact } from './create-contact.ts'
import { ContactQuery } from './listing/contact-query.schema.ts'
import { listContacts } from './listing/list-contacts.ts'
import { updateContact } from './update-contact.ts'
import { upsertContact } from './upsert-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let acme: CompanyId
beforeEach(async () => {
  acme = await insertCompany('Acme')
})

async function insertCompany(name: string, { workspaceId }: Pick<Ctx, 'workspaceId'> = ctx): Promise<CompanyId> {
  const id = newId('cpy')
  await ctx.db.insert(companies).values({ workspaceId, id, name })
  return id
}

const isCompany = (id: CompanyId) => and(eq(companies.workspaceId, ctx.workspaceId), eq(companies.id, id))
const deleteRow = (id: CompanyId, db = ctx.db) => db.delete(companies).where(isCompany(id))

const notFound = { code: 'validation_error', issues: [{ path: 'companyId', message: 'Company not found' }] }
const emailsOf = async (query: Record<string, string>) =>
  (await listContacts(ctx, ContactQuery.parse(query))).data.map(({ email }) => email)

test('a new contact copies the name of its company, unless it has a text', async () => {
  const bare = await createTestContact(ctx, { companyId: acme })
  // In a POST, null is as if the field were left out.
  const ofNull = await createTestContact(ctx, { companyId: acme, company: null })
  const named = await createTestContact(ctx, { companyId: acme, company: 'ACME Inc.' })
  const cleared = await upsertContact(ctx, { email: 'c@example.com', companyId: acme, company: null })
  expect([bare, ofNull, named, cleared.contact]).toMatchObject([
    { companyId: acme, company: 'Acme' },
    { companyId: acme, company: 'Acme' },
    { companyId: acme, company: 'ACME Inc.' },
    { companyId: acme, company: null },
  ])
})

test('a contact copies the name once: neither a new name nor a change follows', async () => {
  const { id } = await createTestContact(ctx, { firstName: 'Ada' })
  expect(await updateContact(ctx, id, { companyId: acme })).toMatchObject({ companyId: acme, company: 'Acme' })
  await ctx.db.update(companies).set({ name: 'Apex' }).where(isCompany(acme))
  await updateContact(ctx, id, { company: null })
  const unchanged = await updateContact(ctx, id, { companyId: acme })
  expect(unchanged).toMatchObject({ companyId: acme, company: null })
  const other = await updateContact(ctx, id, { companyId: await insertCompany('Other'), company: 'Mine' })
  expect(other).toMatchObject({ company: 'Mine' })
  expect(await updateContact(ctx, id, { companyId: acme })).toMatchObject({ companyId: acme, company: 'Mine' })
  expect(await updateContact(ctx, id, { companyId: null })).toMatchObject({ companyId: null, company: 'Mine' })
})

test('an unknown company and one of another workspace are rejected by every write', async () => {
  const other = await createTestCtx(database.db)
  const { id } = await createTestContact(ctx)
  for (const companyId of [newId('cpy'), await insertCompany('Theirs', other)]) {
    await expect(createContact(ctx, { email: 'a@example.com', companyId })).rejects.toMatchObject(notFound)
    await expect(updateContact(ctx, id, { companyId })).rejects.toMatchObject(notFound)
    await expect(upsertContact(ctx, { email: 'a@example.com', companyId })).rejects.toMatchObject(notFound)
    const entries = [{ email: 'a@example.com', companyId }, { email: `${companyId}@example.com` }]
    const { results } = await writeContactBatch(ctx, { contacts: entries, onConflict: 'fail' }, () => {})
    expect(results).toMatchObject([{ status: 'FAILED', ...notFound }, { status: 'CREATED' }])
  }
  expect(await emailsOf({ email: 'a@example.com' })).toEqual([])
})

test('a merge fills the company from the duplicate, and keeps none that was deleted', async () => {
  const kept = await createTestContact(ctx)
  const alone = await createTestContact(ctx)
  const duplicate = await createTestContact(ctx, { companyId: acme })
  const ofOther = await createTestContact(ctx, { companyId: await insertCompany('Other') })
  const gone = await insertCompany('Gone')
  const ofDeleted = await createTestContact(ctx, { companyId: gone })
  const alsoOfDeleted = await createTestContact(ctx, { companyId: gone })
  const another = await createTestContact(ctx, { companyId: acme })
  await deleteRow(gone)
  const merged = await mergeContacts(ctx, kept.id, { contactId: duplicate.id })
  expect(merged).toMatchObject({ companyId: acme, company: 'Acme' })
  expect(await mergeContacts(ctx, kept.id, { contactId: ofOther.id })).toMatchObject({ companyId: acme })
  expect(await mergeContacts(ctx, alone.id, { contactId: ofDeleted.id })).toMatchObject({ companyId: null })
  expect(await mergeContacts(ctx, alsoOfDeleted.id, { contactId: another.id })).toMatchObject({ companyId: acme })
})

test('a listing by a company has its contacts, and none once the company is deleted', async () => {
  await createTestContact(ctx, { email: 'a@example.com', companyId: acme })
  await createTestContact(ctx, { email: 'b@example.com', companyId: await insertCompany('Other') })
  expect(await emailsOf({ companyId: acme })).toEqual(['a@example.com'])
  expect(await emailsOf({ companyId: newId('cpy') })).toEqual([])
  await deleteRow(acme)
  expect(await emailsOf({ companyId: acme })).toEqual([])
  expect(await ctx.db.$count(contacts, eq(contacts.companyId, acme))).toBe(1)
})

test('a change of the company is in `changes` of contact.updated', async () => {
  const { id } = await createTestContact(ctx, { company: 'Own' })
  await updateContact(ctx, id, { companyId: acme })
  const [event] = await ctx.db
    .select({ data: events.data })
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, 'contact.updated')))
  expect(event?.data).toMatchObject({ id, companyId: acme, changes: { companyId: { from: null, to: acme } } })
})

const writes: Record<string, (ctx: Ctx, input: { email: string; companyId: CompanyId }) => Promise<unknown>> = {
  'POST /contacts': createContact,
  'PUT /contacts': upsertContact,
  'PATCH /contacts/{id}': async (ctx, { email, companyId }) => {
    const { id } = await createTestContact(ctx, { email })
    return updateContact(ctx, id, { companyId })
  },
}

test.each(Object.entries(writes))('%s waits for the deletion of the company, and fails', async (_name, write) => {
  const deletion = await openTransaction(ctx.db, (db) => deleteRow(acme, db))
  const writing = write(ctx, { email: 'a@example.com', companyId: acme })
  await Promise.all([
    expect(writing).rejects.toMatchObject(notFound),
    waitUntilBlocked(ctx.db).then(() => deletion.commit()),
  ])
})

test.each(Object.entries(writes))('%s holds the company until it ends', async (_name, write) => {
  const writing = await openTransaction(ctx.db, (db) =>
    write({ ...ctx, db }, { email: 'a@example.com', companyId: acme }),
  )
  const deletion = openTransaction(ctx.db, (db) => deleteRow(acme, db))
  await waitUntilBlocked(ctx.db)
  await writing.commit()
  await (await deletion).commit()
  expect(await ctx.db.$count(contacts, eq(contacts.companyId, acme))).toBe(1)
})
