import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { type Contact } from '../contacts/contacts.schema.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { type ContactId, newId, uuidOf } from '../kernel/ids.ts'
import { listLists } from '../lists/lists.ts'
import { ListQuery } from '../lists/lists.schema.ts'
import type { Page } from './paging.ts'
import { deriveKeys, signPayload } from '../kernel/crypto.ts'
import { addSubscribers, createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const page = (query: Record<string, string>): Promise<Page<Contact>> => listContacts(ctx, ContactQuery.parse(query))

/** Reads all pages in turn and calls `between` before each further page. */
async function readAll(query: Record<string, string>, between: () => Promise<unknown> = async () => {}) {
  const found: Contact[] = []
  let cursor: string | null = null
  do {
    const { data, nextCursor }: Page<Contact> = await page({ ...query, ...(cursor !== null && { cursor }) })
    found.push(...data)
    cursor = nextCursor
    if (cursor !== null) await between()
  } while (cursor !== null)
  return found.map(({ id }) => id)
}

async function addContacts(count: number, name = 'person'): Promise<ContactId[]> {
  const list = await createTestList(ctx)
  return addSubscribers(ctx, list.id, { count, name })
}

describe('reading all pages', () => {
  test.each(['createdAt', '-createdAt', 'updatedAt', '-updatedAt', 'email', '-email'])(
    'by %s returns each record once, even with equal timestamps',
    async (sort) => {
      const ids = await addContacts(23)
      const found = await readAll({ sort, limit: '4' })
      expect(found.toSorted()).toEqual(ids.toSorted())
      const opposite = await readAll({ sort: sort.startsWith('-') ? sort.slice(1) : `-${sort}`, limit: '5' })
      expect(opposite).toEqual(found.toReversed())
    },
  )

  test('ends without an empty page if the last page is full', async () => {
    await addContacts(6)
    const first = await page({ limit: '3' })
    const second = await page({ limit: '3', cursor: first.nextCursor ?? '' })
    expect([first.data.length, second.data.length, second.nextCursor]).toEqual([3, 3, null])
    expect(await page({ tag: 'unused' })).toEqual({ data: [], nextCursor: null })
  })

  test('neither repeats nor skips records during inserts and deletes', async () => {
    const ids = await addContacts(20)
    let round = 0
    const found = await readAll({ limit: '3', sort: '-createdAt' }, async () => {
      round += 1
      await addContacts(2, `newcomer-${round}`)
      // Deletes the record that the cursor names.
      await database.db.execute(sql`delete from contacts where id = ${uuidOf(ids[17] ?? newId('con'))}`)
    })
    expect(found.toSorted()).toEqual(ids.toSorted())
  })

  test('uses timestamps with milliseconds, the precision of the database', async () => {
    const ids = await addContacts(10)
    for (const [n, id] of ids.entries())
      await database.db.execute(sql`
        update contacts set created_at = now() + ${0.4 * n} * interval '1 ms' where id = ${uuidOf(id)}`)
    expect((await readAll({ limit: '1' })).toSorted()).toEqual(ids.toSorted())
  })
})

describe('a cursor', () => {
  const invalid = {
    code: 'validation_error',
    issues: [{ path: 'cursor', message: 'Invalid cursor' }],
  }

  test('is invalid if changed, or for another sort, listing, workspace or installation', async () => {
    await addContacts(3)
    await createTestList(ctx)
    const cursor = (await page({ limit: '1' })).nextCursor ?? ''
    const position = ['2000-01-01T00:00:00.000Z', '00000000-0000-0000-0000-000000000000']
    const plain = Buffer.from(JSON.stringify(position)).toString('base64url')
    const signed = signPayload(ctx.settings.keys.cursors, `contacts -createdAt ${ctx.workspaceId}`, position)
    const wrong = ['x', '.', `${cursor}x`, cursor.slice(1), `${cursor}=`, plain, signed, "' or 1=1 --"]
    for (const text of wrong) await expect(page({ limit: '1', cursor: text })).rejects.toMatchObject(invalid)
    await expect(page({ limit: '1', cursor, sort: 'createdAt' })).rejects.toMatchObject(invalid)
    await expect(page({ limit: '1', cursor, sort: '-email' })).rejects.toMatchObject(invalid)
    await expect(listLists(ctx, ListQuery.parse({ cursor }))).rejects.toMatchObject(invalid)
    const other = await createTestCtx(database.db)
    await expect(listContacts(other, ContactQuery.parse({ cursor }))).rejects.toMatchObject(invalid)
    const elsewhere = {
      ...ctx,
      settings: { ...ctx.settings, keys: deriveKeys('the secret of another installation altogether') },
    }
    await expect(listContacts(elsewhere, ContactQuery.parse({ cursor }))).rejects.toMatchObject(invalid)
    expect((await page({ limit: '1', cursor })).data).toHaveLength(1)
  })

  test('works with another page size', async () => {
    const ids = await addContacts(5)
    const first = await page({ limit: '2' })
    const rest = await page({ limit: '100', cursor: first.nextCursor ?? '' })
    expect([...first.data, ...rest.data].map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  })
})

test.each(['0', '-1', '101', '1e2', '1.5', '', 'abc', ' 5', '٣', '5 ', '0x5', '9'.repeat(400)])(
  'rejects the limit "%s"',
  (limit) => {
    expect(ContactQuery.safeParse({ limit }).error?.issues[0]?.message).toBe('must be a whole number from 1 to 100')
  },
)

test('the default limit is 50, and an unknown parameter is rejected by name', () => {
  expect(ContactQuery.parse({}).limit).toBe(50)
  const { error } = ContactQuery.safeParse({ curser: 'x' })
  expect(error?.issues).toMatchObject([{ keys: ['curser'], message: 'unknown field (did you mean "cursor"?)' }])
})
