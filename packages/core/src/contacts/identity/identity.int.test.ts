import { beforeEach, describe, expect, test } from 'vitest'
import { createTestContact, createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { Ctx } from '../../request/context.ts'
import { mergeContacts } from '../../operations/contacts/merge-contacts.ts'
import { deleteContact } from '../../operations/contacts/delete-contact.ts'
import type { Contact, ContactInput } from '../contacts.schema.ts'
import { createContact } from '../create-contact.ts'
import { listContacts } from '../listing/list-contacts.ts'
import { ContactQuery } from '../listing/contact-query.schema.ts'
import { readContact } from '../read-contact.ts'
import type { ContactKeys } from './contact-keys.ts'
import { updateContact } from '../update-contact.ts'
import { upsertContact } from '../upsert-contact.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const [a, b, free] = ['a@example.com', 'b@example.com', 'free@example.com']
const find = async (externalId: string) =>
  (await listContacts(ctx, ContactQuery.parse({ externalId }))).data.map(({ id }) => id)
const expectConflict = async (input: ContactInput, contactIds: string[]) => {
  const before = await listEventTypes(ctx)
  await expect(upsertContact(ctx, input)).rejects.toMatchObject({ code: 'identity_conflict', details: { contactIds } })
  expect(await listEventTypes(ctx)).toEqual(before)
}

describe('an upsert', () => {
  test.each<[string, ContactKeys, { changed: ContactKeys; matchedBy: string }]>([
    ['its external id', { externalId: 'x' }, { changed: {}, matchedBy: 'externalId' }],
    ['both', { externalId: 'x', email: 'A@example.com' }, { changed: {}, matchedBy: 'externalId' }],
    [
      'its external id, with a free address',
      { externalId: 'x', email: free },
      { changed: { email: free }, matchedBy: 'externalId' },
    ],
    ['its address', { email: a }, { changed: {}, matchedBy: 'email' }],
    ['its address, with null', { email: a, externalId: null }, { changed: {}, matchedBy: 'email' }],
  ])('finds a contact with both keys by %s', async (_, keys, { changed, matchedBy }) => {
    const { id } = await createTestContact(ctx, { email: a, externalId: 'x' })
    expect(await upsertContact(ctx, { ...keys, company: 'Engines' })).toMatchObject({
      contact: { id, email: a, externalId: 'x', company: 'Engines', ...changed },
      isNew: false,
      matchedBy,
    })
  })

  test('gives its external id to the contact with its address that has none', async () => {
    const { id } = await createTestContact(ctx, { email: a })
    expect(await upsertContact(ctx, { email: a, externalId: 'x' })).toMatchObject({
      contact: { id, externalId: 'x' },
      matchedBy: 'email',
    })
  })

  test('rejects keys of different contacts, and an address with another external id', async () => {
    const one = await createTestContact(ctx, { email: a, externalId: 'x' })
    const other = await createTestContact(ctx, { email: b, externalId: 'y' })
    const bare = await createTestContact(ctx, { email: free })
    await expectConflict({ externalId: 'x', email: b }, [one.id, other.id])
    await expectConflict({ externalId: 'y', email: free }, [other.id, bare.id])
    await expectConflict({ externalId: 'z', email: a }, [one.id])
    // Two people who swap addresses: one of them gives theirs up first.
    await upsertContact(ctx, { externalId: 'x', email: 'between@example.com' })
    await upsertContact(ctx, { externalId: 'y', email: a })
    expect((await upsertContact(ctx, { externalId: 'x', email: b })).contact).toMatchObject({ id: one.id, email: b })
  })

  test('creates a contact for unknown keys, for which it needs an address', async () => {
    expect(await upsertContact(ctx, { email: a, externalId: 'x' })).toMatchObject({ isNew: true, matchedBy: 'none' })
    for (const input of [{ externalId: 'X' }, {}]) {
      await expect(upsertContact(ctx, input)).rejects.toMatchObject({
        code: 'validation_error',
        issues: [{ path: 'email', message: 'is required' }],
      })
    }
  })

  test('compares byte for byte', async () => {
    const ids = ['é', 'e\u0301', 'É', 'e', 'E', "a'b", 'a\\b', 'a%', 'ß', 'ss']
    for (const [index, externalId] of ids.entries())
      await createTestContact(ctx, { email: `${index}@example.com`, externalId })
    for (const [index, externalId] of ids.entries())
      expect((await upsertContact(ctx, { externalId })).contact.email).toBe(`${index}@example.com`)
  })

  test('does not find a contact of another workspace', async () => {
    await createTestContact(await createTestCtx(database.db), { email: a, externalId: 'x' })
    expect(await find('x')).toEqual([])
    expect(await upsertContact(ctx, { email: a, externalId: 'x' })).toMatchObject({ isNew: true })
  })
})

describe('an external id', () => {
  test('is set, changed and cleared by an update, and is free again', async () => {
    const { id } = await createTestContact(ctx)
    for (const externalId of ['x', 'y', null]) {
      expect(await updateContact(ctx, id, { externalId })).toMatchObject({ externalId })
      expect(await find('x')).toEqual(externalId === 'x' ? [id] : [])
    }
    expect(await createContact(ctx, { email: a, externalId: 'y' })).toMatchObject({ externalId: 'y' })
  })

  test('that is taken is rejected by name, and nothing is written', async () => {
    const owner = await createTestContact(ctx, { externalId: 'x' })
    const other = await createTestContact(ctx, { email: b })
    const taken = {
      code: 'already_exists',
      message: 'Contact already exists',
      details: { contactId: owner.id },
      issues: [{ path: 'externalId', message: expect.any(String) }],
    }
    await expect(createContact(ctx, { email: a, externalId: 'x' })).rejects.toMatchObject(taken)
    await expect(updateContact(ctx, other.id, { externalId: 'x', company: 'Engines' })).rejects.toMatchObject(taken)
    expect(await readContact(ctx, other.id)).toEqual(other)
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.created'])
  })
})

describe('a merge', () => {
  const merge = async (survivor: Contact, duplicate: Contact) =>
    mergeContacts(ctx, survivor.id, { contactId: duplicate.id })

  test('takes the external id of the duplicate if the survivor has none', async () => {
    const survivor = await createTestContact(ctx, { email: a })
    const merged = await merge(survivor, await createTestContact(ctx, { externalId: 'x' }))
    expect(merged).toMatchObject({ id: survivor.id, externalId: 'x' })
    expect(await updateContact(ctx, survivor.id, { externalId: null })).toMatchObject({ externalId: null })
    expect(await find('x')).toEqual([])
  })

  test('makes the other one an alias that finds the survivor, also after the next merge', async () => {
    const [one, two, three] = [
      await createTestContact(ctx, { email: a, externalId: 'x' }),
      await createTestContact(ctx, { externalId: 'y' }),
      await createTestContact(ctx, { externalId: 'z' }),
    ]
    expect(await merge(two, three)).toMatchObject({ externalId: 'y' })
    expect(await merge(one, two)).toMatchObject({ externalId: 'x' })
    for (const externalId of ['x', 'y', 'z']) {
      expect(await find(externalId)).toEqual([one.id])
      const { contact, matchedBy } = await upsertContact(ctx, { externalId, email: a, company: externalId })
      expect([contact.id, contact.externalId, contact.company, matchedBy]).toEqual([
        one.id,
        'x',
        externalId,
        'externalId',
      ])
    }
  })

  test('an alias can be neither set nor overwritten, and does not replace a cleared key', async () => {
    const survivor = await createTestContact(ctx, { email: a, externalId: 'x' })
    await merge(survivor, await createTestContact(ctx, { externalId: 'y' }))
    const other = await createTestContact(ctx, { email: b })
    const taken = { code: 'already_exists', details: { contactId: survivor.id }, issues: [{ path: 'externalId' }] }
    await expect(createContact(ctx, { email: free, externalId: 'y' })).rejects.toMatchObject(taken)
    await expect(updateContact(ctx, other.id, { externalId: 'y' })).rejects.toMatchObject(taken)
    await expect(updateContact(ctx, survivor.id, { externalId: 'y' })).rejects.toMatchObject(taken)
    await expectConflict({ externalId: 'y', email: b }, [survivor.id, other.id])
    await updateContact(ctx, survivor.id, { externalId: null })
    expect((await upsertContact(ctx, { externalId: 'y', email: a })).contact).toMatchObject({ externalId: null })
  })

  test('the deletion of the survivor frees all external ids', async () => {
    const survivor = await createTestContact(ctx, { externalId: 'x' })
    await merge(survivor, await createTestContact(ctx, { externalId: 'y' }))
    await deleteContact(ctx, survivor.id)
    for (const externalId of ['x', 'y'])
      expect(await createTestContact(ctx, { externalId })).toMatchObject({ externalId })
  })
})
