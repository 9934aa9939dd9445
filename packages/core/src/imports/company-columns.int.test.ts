import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { companies, contacts } from '../db/schema/index.ts'
import { newId } from '../kernel/ids.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const readPeople = () =>
  ctx.db
    .select({ email: contacts.email, companyId: contacts.companyId, company: contacts.company })
    .from(contacts)
    .where(eq(contacts.workspaceId, ctx.workspaceId))
    .orderBy(contacts.email)

test('an exported companyId links the contact again, and is left out elsewhere', async () => {
  const id = newId('cpy')
  await ctx.db.insert(companies).values({ workspaceId: ctx.workspaceId, id, name: 'Acme' })
  const file = `email,companyId\na@example.com,${id}\nb@example.com,${newId('cpy')}\nc@example.com,4711\n`
  const record = await runTestImport(ctx, file)
  const leftOut = 'companyId: Company not found; left out'
  expect(record).toMatchObject({
    created: 3,
    failed: 0,
    errors: [
      { line: 3, message: leftOut },
      { line: 4, message: leftOut },
    ],
  })
  expect(await readPeople()).toEqual([
    { email: 'a@example.com', companyId: id, company: 'Acme' },
    { email: 'b@example.com', companyId: null, company: null },
    { email: 'c@example.com', companyId: null, company: null },
  ])
})
