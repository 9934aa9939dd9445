import { createDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { afterAll, expect, inject, test } from 'vitest'
import { createContact } from '../contacts/create-contact.ts'
import type { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { audit } from '../audit/audit.ts'
import { forgetLiftNotes } from '../audit/forget-lift-notes.ts'
import { findTraces } from '../operations/contacts/find-traces.ts'
import { openDatabase } from './client.ts'
import { migrate } from './migrate.ts'

/** The databases by their options: a migration takes longer than the tests of a collation. */
const made = new Map<string, TestDatabase>()
afterAll(() => Promise.all([...made.values()].map((database) => database.close())))

const icu = (locale: string) =>
  `template template0 encoding 'UTF8' locale_provider icu icu_locale '${locale}' lc_collate 'C' lc_ctype 'C'`

const libc = "template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C'"

async function create(options: string, settings: readonly string[] = []) {
  const known = made.get(options + settings.join())
  if (known) return known
  const [url = ''] = inject('testServices').nodeUrls
  const database = await createDatabase([url], options)
  made.set(options + settings.join(), database)
  const name = new URL(database.url).pathname.slice(1)
  for (const setting of settings) await database.db.execute(`alter database ${name} set ${setting}`)
  await migrate(database.url)
  return database
}

/** A migration for each takes a second, so the gate has only those that differ most. */
const locales = isFullRun ? ['tr-TR', 'az', 'de-DE'] : ['tr-TR']
const collations: [name: string, options: string][] = [
  ['C', libc],
  ...locales.map((locale): [string, string] => [locale, icu(locale)]),
]

test.each([...collations, ['lt', icu('lt')], ['tr-CY without case and accents', icu('tr-CY-u-ks-level1')]])(
  'an address is one contact in any case, with the collation %s',
  async (_, options) => {
    const { db } = await create(options)
    const ctx = await createTestCtx(db)
    const contact = await createContact(ctx, { email: 'INFO@Example.com', tags: ['İ', 'i', 'I', 'ı'] })
    await expect(createContact(ctx, { email: 'info@example.com' })).rejects.toMatchObject({
      code: 'already_exists',
    })
    expect((await findContactByEmail(ctx, 'iNfO@example.COM'))?.id).toBe(contact.id)
    expect(contact.tags).toHaveLength(4)
  },
)

test.each(collations)('a search ignores case and accents, with the collation %s', async (name, options) => {
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

test('an address in capitals is erased from notes, and found, with a Turkish collation', async () => {
  const { db, url } = await create(icu('tr-TR'))
  const ctx = await createTestCtx(db)
  const note = 'IRIS@EXAMPLE.COM called'
  await audit(ctx, 'suppression.lifted', { note })
  const count = async () => (await findTraces(url, ['iris@example.com'])).traces.length
  expect(await count()).toBe(1)
  await forgetLiftNotes(ctx, { contactIds: [], emails: ['iris@example.com'] })
  expect(await count()).toBe(0)
})

const settings = [
  ["datestyle to 'German'", "timezone to 'America/St_Johns'", "intervalstyle to 'sql_standard'"],
  ["bytea_output to 'escape'", 'extra_float_digits to -15', 'array_nulls to off', 'quote_all_identifiers to on'],
  ["datestyle to 'SQL, DMY'", "timezone to 'Asia/Kathmandu'", "intervalstyle to 'postgres_verbose'"],
  ["datestyle to 'Postgres, YMD'", "timezone to '+05:45'", "intervalstyle to 'iso_8601'"],
].slice(0, countRuns({ gate: 2, full: 4 }))

test.each(settings.map((one) => [one]))('moments are the same whatever the database sets: %s', async (settings) => {
  const { url } = await create("template template0 encoding 'UTF8'", settings)
  const database = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
  const ctx = await createTestCtx(database.db)
  const { createdAt } = await createContact(ctx, { email: 'ada@example.com' })
  expect((await findContactByEmail(ctx, 'ada@example.com'))?.createdAt).toBe(createdAt)
  await database.close()
})
