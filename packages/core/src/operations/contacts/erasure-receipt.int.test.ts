import {
  createTestCompany,
  createTestContact,
  createTestCtx,
  createTestNote,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { expect, test } from 'vitest'
import { type ContactId, newId, uuidOf } from '../../kernel/ids.ts'
import { deleteContact } from './delete-contact.ts'
import { createErasureReceipt, limitSearches } from './erasure-receipt.ts'
import { eraseNextStep } from './erase-contact.ts'
import { findWorkspaceTraces } from './find-traces.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function erase(id: ContactId) {
  await deleteContact(ctx, id)
  while ((await eraseNextStep(ctx, uuidOf(id))) !== 'done');
}
const placesOf = async (id: ContactId, ...emails: string[]) =>
  (await createErasureReceipt(ctx, id, { emails })).found.map(({ place, reason }) => [place, reason !== null])

test('a receipt names what is left of a person in the workspace, with the reason', async () => {
  const email = 'ada@example.com'
  const { id } = await createTestContact(ctx, { email })
  const company = await createTestCompany(ctx)
  await createTestNote(ctx, {
    companyId: company.id,
    body: `Ask <a href="mailto:${encodeURIComponent(email)}">Ada</a>`,
  })
  await erase(id)
  const receipt = await createErasureReceipt(ctx, id, { emails: [email] })
  expect(receipt).toMatchObject({ searchedRedisKeys: null, notSearched: expect.arrayContaining([expect.any(String)]) })
  expect(receipt.searchedTables).toBeGreaterThan(30)
  expect(await placesOf(id, email)).toEqual([
    ['audit_entries.subject_id', true],
    ['events.data', true],
    ['events.contact_id', true],
    ['notes.body', false],
  ])
  expect((await placesOf(id)).map(([place]) => place)).not.toContain('notes.body')
})

test('a receipt ignores a longer address, and finds one after an encoded space', async () => {
  const email = 'ada@example.com'
  const { id } = await createTestContact(ctx, { email })
  for (const other of ['lada@example.com', 'l.ada@example.com', 'ada@example.comet'])
    await createTestContact(ctx, { email: other })
  await erase(id)
  expect((await placesOf(id, email)).map(([place]) => place)).not.toContain('contacts.email')
  const company = await createTestCompany(ctx)
  for (const body of [`https://example.com/?to=x%20${encodeURIComponent(email)}`, `Adas Post: ${email}`]) {
    const { id: noteId } = await createTestNote(ctx, { companyId: company.id, body })
    expect(await placesOf(id, email)).toContainEqual(['notes.body', false])
    await database.pool.query('delete from notes where id = $1', [uuidOf(noteId)])
  }
})

test('a receipt reads nothing of other workspaces or of accounts', async () => {
  const email = 'grace@example.com'
  const { id } = await createTestContact(ctx, { email })
  const other = await createTestCtx(database.db)
  await createTestContact(other, { email })
  await database.pool.query(
    `insert into users (id, email, name, password_hash) values (gen_random_uuid(), $1, 'Grace', 'x')`,
    [email],
  )
  await erase(id)
  const places = (await placesOf(id, email)).map(([place]) => place)
  expect(places).toEqual(['audit_entries.subject_id', 'events.data', 'events.contact_id'])
  await expect(createErasureReceipt(other, id, { emails: [email] })).rejects.toMatchObject({ code: 'not_found' })
})

test('there is no receipt before the contact is deleted and its erasure is done', async () => {
  const { id } = await createTestContact(ctx)
  const refusal = { code: 'wrong_state' }
  await expect(createErasureReceipt(ctx, id, { emails: [] })).rejects.toMatchObject(refusal)
  await deleteContact(ctx, id)
  await expect(createErasureReceipt(ctx, id, { emails: [] })).rejects.toMatchObject(refusal)
  while ((await eraseNextStep(ctx, uuidOf(id))) !== 'done');
  expect(await createErasureReceipt(ctx, id, { emails: [] })).toMatchObject({ found: expect.any(Array) })
  await expect(createErasureReceipt(ctx, newId('con'), { emails: [] })).rejects.toMatchObject({ code: 'not_found' })
})

test('a search waits until those of large workspaces have ended', async () => {
  const search = limitSearches(500)
  const lock = 'lock table webhooks in access exclusive mode'
  const slow = await openTransaction(database.db, (db) => db.execute(lock))
  const on = await Promise.all(Array.from({ length: 3 }, () => createTestCtx(database.db)))
  const errors: unknown[] = await Promise.all(on.map((ctx) => search(ctx, ['ada']).catch((error: unknown) => error)))
  const message = 'The workspace is too large for this: ask the operator for the receipt'
  await slow.commit()
  expect(errors).toMatchObject(on.map(() => ({ code: 'unavailable', message })))
})

test('the tables of a search share its time', async () => {
  const statements = await recordStatements(database, ctx, (ctx) => findWorkspaceTraces(ctx, ['ada'], 60_000))
  const limits = statements.flatMap(({ text }) => /statement_timeout = (\d+)/.exec(text)?.slice(1).map(Number) ?? [])
  expect(limits.length).toBeGreaterThan(30)
  expect(limits).toEqual(limits.toSorted((a, b) => b - a))
  expect(limits.at(-1)).toBeLessThan(limits[0] ?? 0)
})
