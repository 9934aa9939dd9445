/** What was said about one list goes with it, and fails nothing that writes it at the same time. */
import { createTestList } from '@rapport/testing/fixtures/factories.ts'
import { runTestSuppressionImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { lockAddresses } from '../consent/address-locks.ts'
import { addSuppression, lockConsent } from '../consent/consent-records.ts'
import { deriveStatuses } from '../consent/derive-statuses.ts'
import { suppressions } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { uuidOf } from '../kernel/ids.ts'
import { suppress } from '../suppressions/suppress.ts'
import { clearDeletedList, deleteList } from './delete-list.ts'
import type { List } from './lists.schema.ts'

const ctx = useTestCtx(useTestDatabase())
const email = 'ada@example.com'
let list: List
beforeEach(async () => {
  list = await createTestList(ctx)
})

const clearStep = () => clearDeletedList(ctx, uuidOf(list.id))
async function clear(): Promise<void> {
  while (await clearStep());
}
const leave = (emails: readonly string[]) =>
  suppress(
    ctx,
    emails.map((email) => ({ email, listId: list.id, reason: 'OPTED_OUT', source: 'API', note: 'By letter' })),
    { emitsEvents: false },
  )
const count = () => ctx.db.$count(suppressions, eq(suppressions.workspaceId, ctx.workspaceId))

test('the suppressions of a deleted list are removed in batches', async () => {
  await leave(Array.from({ length: 501 }, (_, n) => `p${n}@example.com`))
  await deleteList(ctx, list.id)
  expect([await clearStep(), await count()]).toEqual([true, 1])
  expect([await clearStep(), await count()]).toEqual([true, 0])
  expect(await clearStep()).toBe(false)
})

test('an import of suppressions completes while its list is cleared', async () => {
  const locking = await openTransaction(ctx.db, (db) => lockAddresses({ ...ctx, db }, [email], 'exclusive'))
  const importing = runTestSuppressionImport(ctx, `email,reason,listId\n${email},OPTED_OUT,${list.id}\n`)
  await waitUntilBlocked(ctx.db)
  await deleteList(ctx, list.id)
  const clearing = clear()
  await waitUntilBlocked(ctx.db, 2)
  await locking.commit()
  expect(await importing).toMatchObject({ status: 'COMPLETED', suppressed: 1, failed: 0 })
  await clearing
  expect(await count()).toBe(0)
})

test('what was read before its list was cleared is not written again', async () => {
  await leave([email])
  await transaction(ctx.db, async (db) => {
    const records = await lockConsent({ ...ctx, db }, { contacts: [], emails: [email], mode: 'exclusive' })
    await deleteList(ctx, list.id)
    await clear()
    addSuppression(ctx, records, { email, listId: list.id, reason: 'OPTED_OUT', source: 'API' })
    await deriveStatuses({ ...ctx, db }, records)
  })
  expect(await count()).toBe(0)
})
