import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createTestContact, createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { isDatabaseUnavailable } from '../../db/database-errors.ts'
import { AppError } from '../../kernel/errors.ts'
import { mergeContacts } from '../../operations/contacts/merge-contacts.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { writeContactBatch } from '../batch/write-contact-batch.ts'
import type { Contact, ContactInput } from '../contacts.schema.ts'
import { createContact } from '../create-contact.ts'
import { ContactQuery } from '../listing/contact-query.schema.ts'
import { listContacts } from '../listing/list-contacts.ts'
import { mergePolicies } from '../merge-contact.ts'
import { updateContact } from '../update-contact.ts'
import { upsertContact } from '../upsert-contact.ts'
import { writeContacts } from '../write-contacts.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const listAll = async (): Promise<Contact[]> => (await listContacts(ctx, ContactQuery.parse({ sort: 'email' }))).data

const writers: Record<string, (ctx: Ctx, input: ContactInput) => Promise<unknown>> = {
  PUT: upsertContact,
  'a batch': (ctx, input) => writeContactBatch(ctx, { contacts: [input], onConflict: 'update' }, () => {}),
  'an import': (ctx, input) =>
    inTransaction(ctx, (ctx) => writeContacts(ctx, [input], { onExisting: mergePolicies.import, emitsEvents: true })),
}
const pairs = Object.keys(writers).flatMap((one) => Object.keys(writers).map((other): [string, string] => [one, other]))

/** Starts the second write while the first one is not committed yet. */
async function writeDuring(first: [string, ContactInput], second: [string, ContactInput]) {
  const run = (ctx: Ctx, [name, input]: [string, ContactInput]) => writers[name]?.(ctx, input)
  const writing = await openTransaction(ctx.db, async (db) => void (await run({ ...ctx, db }, first)))
  onTestFinished(() => writing.commit())
  const waiting = run(ctx, second)
  await waitUntilBlocked(database.db)
  await writing.commit()
  return waiting
}

const [a, b, c] = ['a@example.com', 'b@example.com', 'c@example.com']

describe.each(pairs)('while %s changes an address, %s', (one, other) => {
  test('changes it too: one contact with the last address and the properties of both', async () => {
    const { id } = await createTestContact(ctx, { email: a, externalId: 'x' })
    await writeDuring(
      [one, { externalId: 'x', email: b, firstName: 'Ada' }],
      [other, { externalId: 'x', email: c, lastName: 'Lovelace' }],
    )
    expect(await listAll()).toMatchObject([{ id, email: c, externalId: 'x', firstName: 'Ada', lastName: 'Lovelace' }])
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.updated', 'contact.updated'])
  })

  test('writes by the new address, or by both keys of a new contact: one contact', async () => {
    await createTestContact(ctx, { email: a, externalId: 'x' })
    await writeDuring([one, { externalId: 'x', email: b }], [other, { email: b, firstName: 'Ada' }])
    expect(await listAll()).toMatchObject([{ email: b, externalId: 'x', firstName: 'Ada' }])
    await writeDuring(
      [one, { externalId: 'y', email: c, firstName: 'Grace' }],
      [other, { externalId: 'y', email: a, lastName: 'Hopper' }],
    )
    expect(await listAll()).toMatchObject([
      { email: a, externalId: 'y', firstName: 'Grace', lastName: 'Hopper' },
      { email: b, externalId: 'x' },
    ])
  })
})

test('a key that was created and merged meanwhile finds the survivor', async () => {
  const survivor = await createTestContact(ctx, { email: a, externalId: 'x' })
  const merging = await openTransaction(ctx.db, async (db) => {
    const duplicate = await createTestContact({ ...ctx, db }, { email: b, externalId: 'y' })
    await mergeContacts({ ...ctx, db }, survivor.id, { contactId: duplicate.id })
  })
  onTestFinished(() => merging.commit())
  const writing = upsertContact(ctx, { externalId: 'y', email: c })
  await waitUntilBlocked(database.db)
  await merging.commit()
  expect(await writing).toMatchObject({ contact: { id: survivor.id, externalId: 'x', email: c } })
  expect(await listAll()).toHaveLength(1)
})

test('the contacts of one batch can pass on their addresses, also in a circle', async () => {
  for (const [externalId, email] of Object.entries({ x: a, y: b, z: c }))
    await createTestContact(ctx, { email, externalId })
  const moves = { x: 'between@example.com', z: a, y: c }
  const contacts = Object.entries(moves).map(([externalId, email]) => ({ externalId, email }))
  const { results } = await writeContactBatch(
    ctx,
    { contacts: [...contacts, { externalId: 'x', email: b }], onConflict: 'update' },
    (error) => {
      throw error
    },
  )
  expect(results.map(({ status }) => status)).toEqual(['UPDATED', 'UPDATED', 'UPDATED', 'UPDATED'])
  expect(await listAll()).toMatchObject([
    { email: a, externalId: 'z' },
    { email: b, externalId: 'x' },
    { email: c, externalId: 'y' },
  ])
})

describe('while a merge makes an external id an alias', () => {
  async function mergeDuring<Result>(work: () => Promise<Result>) {
    const survivor = await createTestContact(ctx, { email: a, externalId: 'x' })
    const duplicate = await createTestContact(ctx, { email: b, externalId: 'y' })
    const merging = await openTransaction(
      ctx.db,
      async (db) => void (await mergeContacts({ ...ctx, db }, survivor.id, { contactId: duplicate.id })),
    )
    onTestFinished(() => merging.commit())
    const waiting = work()
    await waitUntilBlocked(database.db)
    await merging.commit()
    return { survivor, result: await waiting }
  }

  test('an upsert by it changes the survivor', async () => {
    const { survivor, result } = await mergeDuring(() => upsertContact(ctx, { externalId: 'y', email: c }))
    expect(result).toMatchObject({ contact: { id: survivor.id, externalId: 'x', email: c }, matchedBy: 'externalId' })
  })

  test.each<[string, () => Promise<unknown>]>([
    ['created', () => createContact(ctx, { email: c, externalId: 'y' })],
    ['updated', async () => updateContact(ctx, (await createTestContact(ctx)).id, { externalId: 'y' })],
  ])('no contact is %s with it', async (_, work) => {
    const { survivor, result } = await mergeDuring(() => work().catch((error: unknown) => error))
    expect(result).toMatchObject({ code: 'already_exists', details: { contactId: survivor.id } })
  })
})

const email = fc.constantFrom(a, b, c, 'd@example.com')
const externalId = fc.constantFrom('x', 'y', 'z')
const inputs = fc.array(fc.record({ email, externalId }), { minLength: 1, maxLength: 4 })
const seed = chooseSeed(20_261_126)

/** Writes inputs with a tag of their own. A deadlock is possible if two writers swap addresses: the caller repeats. */
async function writeTagged(inputs: readonly ContactInput[], tag: string): Promise<{ tag: string; isWritten: boolean }> {
  const tagged = inputs.map((input) => ({ ...input, tags: [tag] }))
  const write = () =>
    inTransaction(ctx, (ctx) => writeContacts(ctx, tagged, { onExisting: mergePolicies.import, emitsEvents: true }))
  const outcomes = await write().catch((error: unknown) => {
    if (isRepeatable(error)) return undefined
    throw error
  })
  const rejected = outcomes?.flatMap((outcome) => (outcome.status === 'REJECTED' ? outcome.error.code : [])) ?? []
  expect(rejected.filter((code) => code !== 'identity_conflict')).toEqual([])
  return { tag, isWritten: outcomes !== undefined && rejected.length < inputs.length }
}

test(`concurrent writers leave one contact for each key (seed ${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(inputs, { minLength: 2, maxLength: 5 }), async (writes) => {
      ctx = await createTestCtx(database.db)
      const writing = writes.map((inputs, index) => writeTagged(inputs, `write ${index}`))
      const written = (await Promise.all(writing)).flatMap(({ tag, isWritten }) => (isWritten ? [tag] : []))
      const contacts = await listAll()
      expect([...new Set(contacts.flatMap(({ tags }) => tags))].toSorted()).toEqual(written)
      const ids = contacts.map((contact) => contact.externalId)
      expect(ids).toHaveLength(new Set(ids).size)
    }),
    { seed, numRuns: countRuns({ gate: 15, full: 1_000 }) },
  )
})

const isRepeatable = (error: unknown) =>
  isDatabaseUnavailable(error) || (error instanceof AppError && error.code === 'unavailable')
