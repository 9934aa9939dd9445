import { createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { explainSelects, hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { findCurrentContact, redirectAliases } from './contact-aliases.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('finds a contact by its id, or by that of a contact that was merged into it', async () => {
  const { id, email } = await createTestContact(ctx)
  const merged = newId('con')
  await redirectAliases(ctx, { from: merged, to: id })
  for (const known of [id, merged]) expect(await findCurrentContact(ctx, known)).toEqual({ id, email })
  expect(await findCurrentContact(ctx, newId('con'))).toBeUndefined()
})

test.skipIf(hidesPlans)('reads one contact, however many the workspace has', async () => {
  await createTestList(ctx, { confirmed: 2_000 })
  await database.pool.query('analyze contacts')
  const of = { ctx, table: 'contacts' }
  const [plan = ''] = await explainSelects(database, of, (ctx) => findCurrentContact(ctx, newId('con')))
  expect(plan).toMatch(/Index Cond: .*\bid = COALESCE/)
})
