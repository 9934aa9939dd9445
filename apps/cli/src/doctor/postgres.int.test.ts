import { openDatabase } from '@rapport/core/db/client.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { createDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { afterEach, expect, inject, test } from 'vitest'
import { postgresCheck } from './postgres.ts'

let made: TestDatabase | undefined
afterEach(() => made?.close())

/** What the check says of a database beside the version, the durability, the connections and the schema. */
async function findIn(options: string, settings: readonly string[] = []): Promise<string[]> {
  const [url = ''] = inject('testServices').nodeUrls
  made = await createDatabase([url], options)
  const name = new URL(made.url).pathname.slice(1)
  for (const setting of settings) await made.db.execute(`alter database ${name} set ${setting}`)
  await migrate(made.url)
  const database = openDatabase(made.url, { applicationName: 'rapport test', onError: () => {} })
  const input = { config: {}, invalid: new Set<string>(), dnsServers: undefined, backupDirectory: undefined }
  const findings = await postgresCheck.run({ ...input, database })
  await database.close()
  return findings
    .map(({ level, message }) => `${level}: ${message}`)
    .filter((line) => /collation|database sets|asks for/.test(line))
}

const icu = (locale: string) =>
  `template template0 encoding 'UTF8' locale_provider icu icu_locale '${locale}' lc_collate 'C' lc_ctype 'C'`

test.each([
  ['de-DE', icu('de-DE'), []],
  [
    'tr-TR',
    icu('tr-TR'),
    ['warn: the collation tr-TR lowers "I" to a dotless i. Rapport compares addresses without it'],
  ],
  ['az', icu('az'), ['warn: the collation az lowers "I" to a dotless i. Rapport compares addresses without it']],
  [
    'C',
    "template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C'",
    ['warn: the collation C lowers ASCII letters only: a search does not ignore the case of others, such as Cyrillic'],
  ],
])('says what is particular of a database with the collation %s', async (_name, options, expected) => {
  expect(await findIn(options)).toEqual(expected)
})

test('names the formats that the database sets for others', async () => {
  const settings = ["datestyle to 'German'", "timezone to 'America/St_Johns'"]
  expect(await findIn(icu('de-DE'), settings)).toEqual([
    'ok: the database sets DateStyle=German, TimeZone=America/St_Johns; Rapport uses ISO dates in UTC on its own connections',
  ])
})
