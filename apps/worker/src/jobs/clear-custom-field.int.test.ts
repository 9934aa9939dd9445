import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { deleteCustomField } from '@rapport/core/operations/webhooks/delete-custom-field.ts'
import { updateCustomField, createCustomField, listCustomFields } from '@rapport/core/custom-fields/custom-fields.ts'
import { clearNextBatch } from '@rapport/core/custom-fields/clear-custom-field.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { clearCustomField } from './clear-deleted.ts'
import { readContact } from '@rapport/core/contacts/read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))

const definition = { key: 'plan', label: 'Plan', type: 'TEXT', options: [] } as const
const define = (on = ctx) => createCustomField(on, { ...definition, options: [] })
const countValues = async () => {
  const result = await database.pool.query<{ count: number }>(
    `select count(*)::int from contacts where workspace_id = $1 and custom_field_values ? 'plan'`,
    [uuidOf(ctx.workspaceId)],
  )
  return result.rows[0]?.count
}

test('a deleted field disappears immediately and reserves its key until it is cleared', async () => {
  const other = await createTestCtx(database.db)
  await define(other)
  const elsewhere = await createTestContact(other, { customFieldValues: { plan: 'free' } })
  const field = await define()
  await createCustomField(ctx, { ...definition, key: 'city', options: [] })
  const { id } = await createTestContact(ctx, { customFieldValues: { plan: 'pro', city: 'Rome' } })

  await deleteCustomField(ctx, field.id)
  await expect(deleteCustomField(ctx, field.id)).rejects.toThrow('Custom field not found')
  await expect(updateCustomField(ctx, field.id, { label: 'Tariff' })).rejects.toThrow('Custom field not found')
  expect((await listCustomFields(ctx, { limit: 50, sort: '-createdAt' })).data).toMatchObject([{ key: 'city' }])
  await expect(createTestContact(ctx, { customFieldValues: { plan: 'pro' } })).rejects.toThrow('unknown custom field')
  await expect(define()).rejects.toThrow('is still being removed')
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(field.id)])

  await clearCustomField(deps, jobOf(ctx, 'CLEAR_CUSTOM_FIELD', uuidOf(field.id)))
  expect(await listPendingWork(ctx)).toEqual([])
  await define()
  expect(await readContact(ctx, id)).toMatchObject({ customFieldValues: { city: 'Rome' } })
  expect(await countValues()).toBe(0)
  expect(await readContact(other, elsewhere.id)).toMatchObject({ customFieldValues: { plan: 'free' } })
})

test('waits for transactions that validated a value before the deletion, and clears it', async () => {
  const field = await define()
  const [known, other] = [await createTestContact(ctx), await createTestContact(ctx)]
  const transaction = await openTransaction(database.db, async (db) => {
    await createTestContact({ ...ctx, db }, { customFieldValues: { plan: 'pro' } })
    await updateContact({ ...ctx, db }, known.id, { customFieldValues: { plan: 'pro' } })
  })
  // The deletion itself does not wait for the transaction.
  await deleteCustomField(ctx, field.id)
  const late = updateContact(ctx, other.id, { customFieldValues: { plan: 'pro' } })
  await expect(late).rejects.toThrow('unknown custom field')
  const clearing = clearCustomField(deps, jobOf(ctx, 'CLEAR_CUSTOM_FIELD', uuidOf(field.id)))
  await waitUntilBlocked(database.db)
  await transaction.commit()
  await clearing
  await define()
  expect(await countValues()).toBe(0)
})

test('clears a value that a merge moves behind the current position', async () => {
  const field = await define()
  const { id } = await createTestContact(ctx)
  const duplicate = await createTestContact(ctx, { customFieldValues: { plan: 'pro' } })
  await deleteCustomField(ctx, field.id)
  await mergeContacts(ctx, id, { contactId: duplicate.id })
  await database.pool.query('update custom_fields set cleared_to = $1 where id = $2', [uuidOf(id), uuidOf(field.id)])
  expect(await clearNextBatch(ctx, field.id)).toBe(true)
  await expect(define()).rejects.toThrow('is still being removed')
  await clearCustomField(deps, jobOf(ctx, 'CLEAR_CUSTOM_FIELD', uuidOf(field.id)))
  await define()
  expect(await countValues()).toBe(0)
})

const addValues = () =>
  database.pool.query(
    `insert into contacts (workspace_id, id, email, custom_field_values)
     select $1, uuidv7(), 'p' || n || '@example.com', '{"plan": "pro"}' from generate_series(1, 2500) n`,
    [uuidOf(ctx.workspaceId)],
  )

test('others have their turn before the end, and the next job goes on where one ended', async () => {
  const field = await define()
  await addValues()
  await deleteCustomField(ctx, field.id)
  const job = jobOf(ctx, 'CLEAR_CUSTOM_FIELD', uuidOf(field.id))
  const short = { ...deps, timings: { ...deps.timings, clearTurnMs: 0 } }
  const left: unknown[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    await clearCustomField(short, job)
    left.push(await countValues())
  }
  expect(left).toEqual([1_500, 500, 0, 0])
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
})

test('a worker that shuts down requeues the rest, and two concurrent workers finish it', async () => {
  const field = await define()
  await addValues()
  await deleteCustomField(ctx, field.id)
  const job = jobOf(ctx, 'CLEAR_CUSTOM_FIELD', uuidOf(field.id))
  await clearCustomField({ ...deps, stopping: AbortSignal.abort() }, job)
  expect([await countValues(), await listPendingWork(ctx, 'maintenance')]).toEqual([1_500, [uuidOf(field.id)]])
  const second = await createTestDeps(database.db)
  await Promise.all([clearCustomField(deps, job), clearCustomField(second, job)])
  await second.close()
  expect([await countValues(), await listPendingWork(ctx, 'maintenance')]).toEqual([0, []])
  await clearCustomField(deps, job)
  await define()
})
