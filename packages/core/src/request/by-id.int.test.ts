import { createTestCompany } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { companies } from '../db/schema/index.ts'
import { uuidOf } from '../kernel/ids.ts'
import { lockInOrder } from './by-id.ts'
import { inTransaction } from './context.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('each record is read once, also if it still meets the condition', async () => {
  const created = []
  for (let n = 0; n < 5; n += 1) created.push(uuidOf((await createTestCompany(ctx)).id))
  const locked = await inTransaction(ctx, async (ctx) => {
    const lockNext = lockInOrder(companies, ctx, undefined)
    return [await lockNext(2), await lockNext(2), await lockNext(2), await lockNext(2)]
  })
  expect(locked).toEqual([created.slice(0, 2), created.slice(2, 4), created.slice(4), []])
})
