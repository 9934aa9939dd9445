/** The limit of 16 KiB for the custom field values of one contact. */
import { beforeEach, expect, test } from 'vitest'
import { createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { inTransaction } from '../request/context.ts'
import { writeContactBatch } from '../contacts/batch/write-contact-batch.ts'
import type { ContactBatch } from '../contacts/batch/contact-batch.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { findOrCreateContact, upsertContact } from '../contacts/upsert-contact.ts'
import { createCustomField } from './custom-fields.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const values = (from: number, count: number, character = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${from + n}`, character.repeat(2_000)]))
const half = values(0, 5)
const otherHalf = values(5, 5)
const tooLarge = {
  code: 'validation_error',
  message: 'customFieldValues: a record can have at most 16 KiB of custom field values',
  issues: [{ path: 'customFieldValues', message: 'a record can have at most 16 KiB of custom field values' }],
}
const email = 'ada@example.com'

beforeEach(async () => {
  for (let n = 0; n < 10; n += 1) await createCustomField(ctx, { key: `f${n}`, label: 'x', type: 'TEXT', options: [] })
})

test('a new contact with more custom values than the limit is rejected', async () => {
  await expect(createTestContact(ctx, { customFieldValues: values(0, 10) })).rejects.toMatchObject(tooLarge)
  await expect(createTestContact(ctx, { customFieldValues: values(0, 3, '€') })).rejects.toMatchObject(tooLarge)
  await createTestContact(ctx, { customFieldValues: values(0, 8) })
})

test('an update counts the values that the contact has', async () => {
  const { id } = await createTestContact(ctx, { email, customFieldValues: half })
  await expect(updateContact(ctx, id, { customFieldValues: otherHalf })).rejects.toMatchObject(tooLarge)
  await expect(upsertContact(ctx, { email, customFieldValues: otherHalf })).rejects.toMatchObject(tooLarge)
  const removed = Object.fromEntries(Object.keys(half).map((key) => [key, null]))
  const { customFieldValues } = await updateContact(ctx, id, { customFieldValues: { ...removed, ...otherHalf } })
  expect(customFieldValues).toEqual(otherHalf)
})

test.each(['fail', 'update'] as const)('a batch with onConflict %s rejects only the entry', async (onConflict) => {
  const { id } = await createTestContact(ctx, { email, customFieldValues: half })
  const contacts = [
    { email, customFieldValues: otherHalf },
    { email: 'b@example.com', customFieldValues: values(0, 10) },
  ]
  const batch: ContactBatch = { contacts: [...contacts, { email: 'c@example.com' }], onConflict }
  const { results } = await writeContactBatch(ctx, batch, () => {})
  const [first, ...others] = results
  expect(first).toMatchObject(onConflict === 'update' ? { status: 'FAILED', ...tooLarge } : { code: 'already_exists' })
  expect(others).toMatchObject([{ status: 'FAILED', ...tooLarge }, { status: 'CREATED' }])
  expect(await readContact(ctx, id)).toMatchObject({ customFieldValues: half })
})

test.each(['false', 'true'])('an import rejects only the row (dry run: %s)', async (dryRun) => {
  const { id } = await createTestContact(ctx, { email, customFieldValues: half })
  const header = ['email', ...Object.keys(values(0, 10))].join(',')
  const row = (address: string, custom: Record<string, string>) =>
    [address, ...Object.keys(values(0, 10)).map((key) => custom[key] ?? '')].join(',')
  const rows = [row(email, otherHalf), row('b@example.com', values(0, 10)), row('c@example.com', half)]
  const record = await runTestImport(ctx, [header, ...rows].join('\n'), { onConflict: 'update', dryRun })
  expect(record).toMatchObject({ created: 1, updated: 0, failed: 2 })
  expect(record.errors).toEqual([2, 3].map((line) => ({ line, message: tooLarge.message })))
  expect(await readContact(ctx, id)).toMatchObject({ customFieldValues: half })
})

test('a form adds no values above the limit, and says nothing about it', async () => {
  const { id } = await createTestContact(ctx, { email, customFieldValues: half })
  const input = { email, customFieldValues: otherHalf, firstName: 'Ada' }
  const contact = await inTransaction(ctx, (ctx) => findOrCreateContact(ctx, input))
  expect(contact).toMatchObject({ id, firstName: 'Ada', customFieldValues: half })
})

test('a merge above the limit is rejected and changes nothing', async () => {
  const kept = await createTestContact(ctx, { customFieldValues: half })
  const duplicate = await createTestContact(ctx, { customFieldValues: otherHalf })
  await expect(mergeContacts(ctx, kept.id, { contactId: duplicate.id })).rejects.toMatchObject(tooLarge)
  expect(await readContact(ctx, duplicate.id)).toEqual(duplicate)
})

test.each(['skip', 'update'])('an import counts bytes as the API does (onConflict=%s)', async (onConflict) => {
  // PostgreSQL writes JSON with spaces, and numbers without exponents.
  await createCustomField(ctx, { key: 'n', label: 'x', type: 'NUMBER', options: [] })
  const most = { ...values(0, 8), n: 1e-7 }
  const fitting = { ...most, f8: 'x'.repeat(16_384 - Buffer.byteLength(JSON.stringify({ ...most, f8: '' }))) }
  const rows = [fitting, { ...fitting, f8: `${fitting.f8}x` }].map((customFieldValues, n) =>
    JSON.stringify({ email: `p${n}@example.com`, customFieldValues }),
  )
  const record = await runTestImport(ctx, rows.join('\n'), { format: 'ndjson', onConflict })
  expect(record).toMatchObject({ created: 1, failed: 1, errors: [{ line: 2, message: tooLarge.message }] })
  await createTestContact(ctx, { customFieldValues: fitting })
})
