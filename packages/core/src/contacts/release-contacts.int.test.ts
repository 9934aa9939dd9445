import { eq } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import {
  createTestCompany,
  createTestContact,
  createTestDeal,
  insertContactsOfCompany,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { deleteCompany } from '../operations/contacts/delete-company.ts'
import { readCompany } from '../companies/find-company.ts'
import { listCompanyActivity } from '../companies/list-companies.ts'
import { updateCompany } from '../companies/update-company.ts'
import { CompanyContactQuery } from './listing/contact-query.schema.ts'
import { listContactsOfCompany } from './listing/list-contacts.ts'
import { lockContact } from './lock-contact.ts'
import { updateContact } from './update-contact.ts'
import { auditEntries, contacts } from '../db/schema/index.ts'
import { ActivityQuery } from '../events/activity.ts'
import { type CompanyId, idOf, uuidOf } from '../kernel/ids.ts'
import { deleteDeal } from '../deals/update-deal.ts'
import { releaseNextContacts } from './release-contacts.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const notFound = { code: 'not_found', message: 'Company not found' }
const countContactsOf = (companyId: CompanyId) => ctx.db.$count(contacts, eq(contacts.companyId, companyId))

async function releaseAll(companyId: CompanyId): Promise<number> {
  for (let batches = 1; ; batches++) if (!(await releaseNextContacts(ctx, companyId))) return batches
}

test('a deleted company is found by no one at once, and its contacts remain', async () => {
  const company = await createTestCompany(ctx, { domain: 'acme.example', externalId: 'org_1' })
  const contact = await createTestContact(ctx, { companyId: company.id })
  await deleteCompany(ctx, company.id)
  const attempts = await Promise.allSettled([
    readCompany(ctx, company.id),
    updateCompany(ctx, company.id, { name: 'x' }),
    deleteCompany(ctx, company.id),
    listContactsOfCompany(ctx, company.id, CompanyContactQuery.parse({})),
    listCompanyActivity(ctx, company.id, ActivityQuery.parse({})),
  ])
  expect(attempts).toMatchObject(attempts.map(() => ({ status: 'rejected', reason: notFound })))
  await createTestCompany(ctx, { domain: 'acme.example', externalId: 'org_1' })
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(company.id)])
  expect(await releaseAll(company.id)).toBe(2)
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await lockContact(ctx, contact.id)).toMatchObject({ companyId: null, company: 'Acme' })
  expect(await listEventTypes(ctx)).toEqual([
    'company.created',
    'contact.created',
    'company.deleted',
    'company.created',
  ])
  expect(await ctx.db.$count(auditEntries, eq(auditEntries.subjectId, company.id))).toBe(1)
})

test('a company with deals cannot be deleted, and the error counts them', async () => {
  const company = await createTestCompany(ctx)
  const [one, two] = [
    await createTestDeal(ctx, { companyId: company.id }),
    await createTestDeal(ctx, { companyId: company.id }),
  ]
  const inUse = { code: 'in_use', details: { dealCount: 2 } }
  await expect(deleteCompany(ctx, company.id)).rejects.toMatchObject(inUse)
  expect(await readCompany(ctx, company.id)).toEqual(company)
  for (const { id } of [one, two]) await deleteDeal(ctx, id)
  await deleteCompany(ctx, company.id)
})

test('a deletion waits for a deal that is being created for the company', async () => {
  const company = await createTestCompany(ctx)
  const creating = await openTransaction(ctx.db, (db) => createTestDeal({ ...ctx, db }, { companyId: company.id }))
  onTestFinished(() => creating.commit())
  const deleting = deleteCompany(ctx, company.id).catch((error: unknown) => error)
  await waitUntilBlocked(database.db, 1)
  await creating.commit()
  expect(await deleting).toMatchObject({ code: 'in_use', details: { dealCount: 1 } })
})

test('a deal that is created while its company is deleted waits, and is rejected', async () => {
  const [company, { pipelineId, contactId }] = [await createTestCompany(ctx), await createTestDeal(ctx)]
  const deleting = await openTransaction(ctx.db, (db) => deleteCompany({ ...ctx, db }, company.id))
  onTestFinished(() => deleting.commit())
  const creating = createTestDeal(ctx, { pipelineId, contactId, companyId: company.id }).catch(
    (error: unknown) => error,
  )
  await waitUntilBlocked(database.db, 1)
  await deleting.commit()
  expect(await creating).toMatchObject({ code: 'validation_error', issues: [{ path: 'companyId' }] })
})

test('a contact that gets a company while this is deleted keeps none of it', async () => {
  const [company, contact] = [await createTestCompany(ctx), await createTestContact(ctx)]
  const giving = await openTransaction(ctx.db, (db) =>
    updateContact({ ...ctx, db }, contact.id, { companyId: company.id }),
  )
  onTestFinished(() => giving.commit())
  const deleting = deleteCompany(ctx, company.id)
  await waitUntilBlocked(database.db, 1)
  await giving.commit()
  await deleting
  await releaseAll(company.id)
  expect(await lockContact(ctx, contact.id)).toMatchObject({ companyId: null })
})

const size = isFullRun ? 100_000 : 2_000

test('a company of many contacts is read by page and deleted without a lock on them', async () => {
  const company = await createTestCompany(ctx)
  await insertContactsOfCompany(ctx, company, size)
  const first = await listContactsOfCompany(ctx, company.id, CompanyContactQuery.parse({}))
  expect([first.data.length, first.nextCursor]).toEqual([50, expect.any(String)])
  expect((await listCompanyActivity(ctx, company.id, ActivityQuery.parse({}))).data).toHaveLength(1)
  const [contact] = first.data
  const locking = await openTransaction(ctx.db, (db) => lockContact({ ...ctx, db }, contact?.id ?? idOf('con', '')))
  onTestFinished(() => locking.commit())
  await deleteCompany(ctx, company.id)
  await locking.commit()
  await releaseNextContacts(ctx, company.id)
  expect(await countContactsOf(company.id)).toBe(size - 500)
  expect(await releaseAll(company.id)).toBe(size / 500)
  expect(await countContactsOf(company.id)).toBe(0)
})
