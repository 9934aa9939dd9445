import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { exportContacts } from './export-contacts.ts'
import { type Contact } from '../contacts.schema.ts'
import { ExportQuery } from '../listing/contact-query.schema.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function exported(query: Record<string, string>): Promise<string[]> {
  const all = await text(await exportContacts(ctx, ExportQuery.parse(query)))
  return all.split('\n').slice(0, -1)
}

test('exports NDJSON in the format of the API, oldest first', async () => {
  await createCustomField(ctx, { key: 'note', label: 'Note', type: 'TEXT', options: [] })
  const ugly = { firstName: '"Ada", \\ {x}', lastName: 'Łovelace 👩‍💻', company: '=1+1', tags: ['a,b', 'c"d', 'e;f'] }
  const contacts: Contact[] = []
  contacts.push(await createTestContact(ctx, { ...ugly, customFieldValues: { note: 'two\nlines\tand a tab' } }))
  contacts.push(await createTestContact(ctx, { phone: '+49 1' }))
  await createTestContact(await createTestCtx(database.db))
  const lines = await exported({ format: 'ndjson' })
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(contacts)
})

test('exports CSV with a header, custom field columns and escaped formulas', async () => {
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'TEXT', options: [] })
  const contact = await createTestContact(ctx, {
    email: 'ada@example.com',
    externalId: '=1815',
    firstName: '=HYPERLINK("http://x.test")',
    lastName: '@sum',
    company: '-1',
    phone: '+49 1',
    locale: 'de-AT',
    tags: ['+a', 'b;c'],
    source: 'a "quote", a comma',
    customFieldValues: { plan: '=cmd' },
  })
  const { createdAt, id } = contact
  expect(await exported({ format: 'csv' })).toEqual([
    'id,email,firstName,lastName,phone,company,tags,emailSubscribedStatus,lastActivityAt,source,createdAt,updatedAt,externalId,locale,companyId,customField.plan',
    `${id},ada@example.com,"'=HYPERLINK(""http://x.test"")",'@sum,'+49 1,'-1,"'+a;""b;c""",NONE,,"a ""quote"", a comma",${createdAt},${createdAt},'=1815,de-AT,,'=cmd`,
  ])
})

test('bom=true starts a CSV with a byte order mark, and is an error for NDJSON', async () => {
  const bytes = await buffer(await exportContacts(ctx, ExportQuery.parse({ bom: 'true' })))
  expect(bytes.toString()).toMatch(/^\ufeffid,email,/)
  await expect(exported({ format: 'ndjson', bom: 'true' })).rejects.toThrow('bom: is only allowed with format=csv')
})

test('formats timestamps of every year like the API', async () => {
  const shown = [
    '0001-01-01T00:00:00.001Z',
    '1969-12-31T23:59:59.999Z',
    '2000-02-29T12:00:00.000Z',
    '9999-12-31T23:59:59.002Z',
  ]
  for (const [place, moment] of shown.entries()) {
    const { id } = await createTestContact(ctx)
    await database.pool.query('update contacts set last_activity_at = $1, created_at = $2 where id = $3', [
      moment,
      `2026-01-01T00:00:0${place}Z`,
      uuidOf(id),
    ])
  }
  const contacts = (await exported({ format: 'ndjson' })).map((line) => JSON.parse(line) as Contact)
  expect(contacts.map(({ lastActivityAt }) => lastActivityAt)).toEqual(shown)
  const [, ...lines] = await exported({ format: 'csv' })
  expect(lines.map((line) => line.split(',')[8])).toEqual(shown)
})

test('applies the filters of the listing, including quotation marks', async () => {
  const wanted = await createTestContact(ctx, { tags: [`it's "this" \\ one`] })
  await createTestContact(ctx)
  const lines = await exported({ format: 'ndjson', tag: `it's "this" \\ one` })
  expect(lines.map((line) => (JSON.parse(line) as Contact).id)).toEqual([wanted.id])
})

test('filters cannot inject SQL, however the database reads backslashes', async () => {
  await createTestContact(ctx)
  const name = new URL(database.url).pathname.slice(1)
  await database.pool.query(`alter database ${name} set standard_conforming_strings = off`)
  try {
    for (const ugly of ["\\' or true) --", "' or true) --", "\\\\' or 1 = 1 --"]) {
      expect(await exported({ format: 'ndjson', tag: ugly })).toEqual([])
      expect(await exported({ format: 'ndjson', source: ugly })).toEqual([])
    }
  } finally {
    await database.pool.query(`alter database ${name} reset standard_conforming_strings`)
  }
})

test('a search tolerates a typo', async () => {
  const wanted = await createTestContact(ctx, { firstName: 'John' })
  await createTestContact(ctx, { firstName: 'Grace' })
  const lines = await exported({ format: 'ndjson', search: 'jonh' })
  expect(lines.map((line) => (JSON.parse(line) as Contact).id)).toEqual([wanted.id])
})

test('exports ten thousand contacts completely', async () => {
  await database.pool.query(
    `insert into contacts (workspace_id, id, email)
     select id, uuidv7(), 'p' || n || '@example.com' from workspaces, generate_series(1, 10000) n
     where id = (select id from workspaces order by created_at desc, id desc limit 1)`,
  )
  const lines = await exported({ format: 'ndjson' })
  const ids = new Set(lines.map((line) => (JSON.parse(line) as Contact).id))
  expect(ids.size).toBe(10_000)
  expect([...ids].every((id) => /^con_[0-9a-z]{26}$/.test(id))).toBe(true)
})

/** Creates more contacts than the buffers of a stream hold. */
const createManyContacts = () =>
  database.pool.query(
    `insert into contacts (workspace_id, id, email, source)
     select id, uuidv7(), 'p' || n || '@example.com', repeat('x', 200) from workspaces, generate_series(1, 5000) n
     where id = (select id from workspaces order by created_at desc, id desc limit 1)`,
  )

/** Waits until no export holds a snapshot. */
async function waitUntilReleased() {
  await waitUntil(
    async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and state <> 'idle' and query like '%snapshot%'
         and pid <> pg_backend_pid()`,
      )
      return rows.length === 0
    },
    { describe: 'the snapshot is released' },
  )
}

const open = (options = {}, on = ctx) => exportContacts(on, ExportQuery.parse({}), options)

test('an aborted export releases its connection', async () => {
  await createManyContacts()
  for (let round = 0; round < 12; round += 1) {
    const stream = await open()
    await new Promise((resolve) => stream.once('data', resolve))
    stream.destroy()
    await waitUntilReleased()
  }
  await waitUntil(() => database.pool.totalCount === database.pool.idleCount, { describe: 'all connections are idle' })
  expect(await exported({ email: 'p1@example.com' })).toHaveLength(2)
})

test('one export per workspace; the quota is free again after its last contact', async () => {
  await createManyContacts()
  const opened = await Promise.allSettled([open(), open(), open()])
  expect(opened.filter(({ status }) => status === 'rejected')).toMatchObject([
    { reason: { code: 'quota_exceeded', retryAfterSeconds: 30 } },
    { reason: { code: 'quota_exceeded', retryAfterSeconds: 30 } },
  ])
  const other = await createTestCtx(database.db)
  expect(await text(await open({}, other))).toMatch(/^id,email/)
  const [stream] = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  expect((await text(stream as Readable)).split('\n')).toHaveLength(5_002)
  for (let round = 0; round < 5; round += 1) expect(await exported({ email: 'p1@example.com' })).toHaveLength(2)
})

test('stalled readers do not block other workspaces, and their snapshots are released', async () => {
  await createManyContacts()
  const workspaces = [ctx, ...(await Promise.all([1, 2, 3, 4].map(() => createTestCtx(database.db))))]
  const stalled = await Promise.all(workspaces.map((on) => open({ idleMs: 300 }, on)))
  const errors = stalled.map((stream) => new Promise<Error>((resolve) => stream.once('error', resolve)))
  expect(await text(await open({}, await createTestCtx(database.db)))).toMatch(/^id,email/)
  for (const error of await Promise.all(errors)) expect(error.message).toBe('The client reads too slowly')
  await waitUntilReleased()
  expect(await exported({ email: 'p1@example.com' })).toHaveLength(2)
})
