import { createDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { afterEach, expect, inject, test } from 'vitest'
import { createContact } from '../contacts/create-contact.ts'
import type { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { openDatabase } from './client.ts'
import { migrate } from './migrate.ts'

let made: TestDatabase | undefined
afterEach(() => made?.close())

const icu = (locale: string) =>
  `template template0 encoding 'UTF8' locale_provider icu icu_locale '${locale}' lc_collate 'C' lc_ctype 'C'`

async function create(options: string, settings: readonly string[] = []) {
  const [url = ''] = inject('testServices').nodeUrls
  made = await createDatabase([url], options)
  const name = new URL(made.url).pathname.slice(1)
  for (const setting of settings) await made.db.execute(`alter database ${name} set ${setting}`)
  await migrate(made.url)
  return made
}

test.each([
  ['C', "template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C'"],
  ['tr-TR', icu('tr-TR')],
  ['az', icu('az')],
  ['de-DE', icu('de-DE')],
])('an address is one contact in any case, with the collation %s', async (_, options) => {
  const { db } = await create(options)
  const ctx = await createTestCtx(db)
  const contact = await createContact(ctx, { email: 'INFO@Example.com', tags: ['İ', 'i', 'I', 'ı'] })
  await expect(createContact(ctx, { email: 'info@example.com' })).rejects.toMatchObject({
    code: 'already_exists',
  })
  expect((await findContactByEmail(ctx, 'iNfO@example.COM'))?.id).toBe(contact.id)
  expect(contact.tags).toHaveLength(4)
})

test.each([
  ['C', "template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C'"],
  ['tr-TR', icu('tr-TR')],
  ['az', icu('az')],
  ['de-DE', icu('de-DE')],
])('a search ignores case and accents, with the collation %s', async (name, options) => {
  const { db } = await create(options)
  const ctx = await createTestCtx(db)
  const { id } = await createContact(ctx, {
    email: 'info@example.com',
    firstName: 'İPEK',
    company: 'LIMITED Işık Çelik',
  })
  const find = async (filter: Partial<ContactQuery>) =>
    (await listContacts(ctx, { limit: 10, customFields: {}, ...filter })).data.map((contact) => contact.id)
  for (const search of ['INFO', 'info', 'ipek', 'IPEK', 'limited', 'LİMİTED', 'ISIK', 'celik', 'ÇELİK'])
    expect([name, search, await find({ search })]).toEqual([name, search, [id]])
  for (const contains of ['limited', 'LIMITED', 'çelik'])
    expect(await find({ filter: { all: [{ field: 'company', contains }] } })).toEqual([id])
})

test('moments are the same whatever the date style and the time zone of the database', async () => {
  const settings = ["datestyle to 'German'", "timezone to 'America/St_Johns'", "intervalstyle to 'sql_standard'"]
  const { url } = await create("template template0 encoding 'UTF8'", settings)
  const database = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
  const ctx = await createTestCtx(database.db)
  const { createdAt } = await createContact(ctx, { email: 'ada@example.com' })
  expect((await findContactByEmail(ctx, 'ada@example.com'))?.createdAt).toBe(createdAt)
  await database.close()
})
