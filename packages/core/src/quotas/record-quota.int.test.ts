import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { NewCompany } from '../companies/companies.schema.ts'
import { createCompany } from '../companies/create-company.ts'
import { writeContactBatch } from '../contacts/batch/write-contact-batch.ts'
import { createContact } from '../contacts/create-contact.ts'
import { uuidOf } from '../kernel/ids.ts'
import { inTransaction } from '../request/context.ts'
import { readUsage } from '../operations/overviews/workspace-usage.ts'
import { setQuotas } from '../workspaces/set-quotas.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const exceeded = { code: 'quota_exceeded' }
const person = (n: number) => ({ email: `person-${n}@example.com` })
const writeBatch = async (numbers: number[]) => {
  const batch = { contacts: numbers.map(person), onConflict: 'update' } as const
  const { results } = await writeContactBatch(ctx, batch, () => {})
  return results.map(({ status }) => status)
}

test('a small quota is exact: a creation waits for one that has not committed', async () => {
  await setQuotas(ctx, { contacts: 2 })
  await createContact(ctx, person(1))
  const creating = await openTransaction(ctx.db, (db) => createContact({ ...ctx, db }, person(2)))
  onTestFinished(() => creating.commit())
  const others = Promise.allSettled([createContact(ctx, person(3)), writeBatch([1, 4])])
  await waitUntilBlocked(database.db, 2)
  await creating.commit()
  expect(await others).toMatchObject([{ reason: exceeded }, { value: ['UNCHANGED', 'FAILED'] }])
})

test('a large quota includes what the process has created since its count', async () => {
  await setQuotas(ctx, { contacts: 10_006 })
  await database.db.execute(sql`
    insert into contacts (workspace_id, id, email)
    select ${uuidOf(ctx.workspaceId)}::uuid, uuidv7(), 'known-' || n || '@example.com' from generate_series(1, 10000) n`)
  await createContact(ctx, person(1))
  expect(await writeBatch([1, 2, 3])).toEqual(['UNCHANGED', 'CREATED', 'CREATED'])
  expect(await writeBatch([1, 4, 5, 6, 7])).toEqual(['UNCHANGED', 'CREATED', 'CREATED', 'CREATED', 'FAILED'])
  await expect(createContact(ctx, person(7))).rejects.toMatchObject(exceeded)
})

async function fillCompanies() {
  await setQuotas(ctx, { companies: 10_001 })
  await database.db.execute(sql`
    insert into companies (workspace_id, id, name)
    select ${uuidOf(ctx.workspaceId)}::uuid, uuidv7(), 'Known ' || n from generate_series(1, 10000) n`)
}

test('a dry run takes nothing of a large quota', async () => {
  await fillCompanies()
  const file = 'email,companyDomain\na@example.com,acme.example\n'
  for (const dryRun of ['true', 'false'])
    expect(await runTestImport(ctx, file, { createCompanies: 'true', dryRun })).toMatchObject({ created: 1, failed: 0 })
})

test('the usage of more than 10,000 companies is an estimate', async () => {
  await fillCompanies()
  expect((await readUsage(ctx)).companies).toMatchObject({ used: 10_000, isEstimate: false })
  await createCompany(ctx, NewCompany.parse({ name: 'Another' }))
  expect((await readUsage(ctx)).companies).toMatchObject({ isEstimate: true, limit: 10_001 })
})

test('a transaction counts what it has created, but not in a savepoint that it undid', async () => {
  await fillCompanies()
  const undone = new Error('undone')
  await inTransaction(ctx, async (ctx) => {
    const undoing = inTransaction(ctx, async (ctx) => {
      await createCompany(ctx, NewCompany.parse({ name: 'Undone' }))
      throw undone
    })
    await expect(undoing).rejects.toBe(undone)
    await createCompany(ctx, NewCompany.parse({ name: 'Last' }))
    await expect(createCompany(ctx, NewCompany.parse({ name: 'Above' }))).rejects.toMatchObject(exceeded)
  })
  await expect(createCompany(ctx, NewCompany.parse({ name: 'Above' }))).rejects.toMatchObject(exceeded)
})
