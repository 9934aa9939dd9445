import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { writeContactBatch } from '../contacts/batch/write-contact-batch.ts'
import { createContact } from '../contacts/create-contact.ts'
import { uuidOf } from '../kernel/ids.ts'
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
