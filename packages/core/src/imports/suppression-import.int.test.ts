import { expect, test } from 'vitest'
import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { countRows, runTestImport, runTestSuppressionImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { newId } from '../kernel/ids.ts'
import { readSubscriber } from '../lists/subscribers.ts'
import { readSuppressions } from '../consent/consent-records.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { listSuppressions } from '../suppressions/suppressions.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test.each([
  ['without a header', 'ada@example.com\nzoe@example.com\n'],
  [
    'with a byte order mark, a header and quotes',
    '\ufeff"Email Address"\r\n"ada@example.com"\r\n"zoe@example.com"\r\n',
  ],
  ['of one row without a line break', 'ada@example.com\nZOE@example.com'],
])('suppresses a column of addresses %s', async (_name, file) => {
  const counts = { kind: 'SUPPRESSIONS', status: 'COMPLETED', processed: 2, created: 2, suppressed: 2, failed: 0 }
  expect(await runTestSuppressionImport(ctx, file)).toMatchObject(counts)
  expect(await reasonsOf('zoe')).toEqual(['MANUAL'])
  expect(await runTestSuppressionImport(ctx, file, { reason: 'OPTED_OUT' })).toMatchObject({
    created: 2,
    suppressed: 2,
  })
  expect(await runTestSuppressionImport(ctx, file)).toMatchObject({ updated: 2, suppressed: 2 })
  expect((await reasonsOf('ada')).toSorted()).toEqual(['MANUAL', 'OPTED_OUT'])
})

test('suppresses every address that it can read, and warns about the rest of a row', async () => {
  const csv = [
    'email;reason;createdAt',
    'a@example.com;cleaned;2020-01-02 03:04:05',
    'b@example.com;spam;',
    'c@example.com;unsubscribed;02.01.2020',
    'd@example.com;subscribed;',
    'no address;BOUNCED;',
    'e@example.com;BOUNCED;2999-01-01',
  ].join('\n')
  const record = await runTestSuppressionImport(ctx, csv)
  expect(record).toMatchObject({ processed: 6, created: 5, suppressed: 5, failed: 1 })
  expect(record.errors).toEqual([
    { line: 5, message: 'reason: unknown word, recorded as MANUAL' },
    { line: 6, message: 'email: must be an email address such as ada@example.com' },
    { line: 7, message: 'saidAt: must not be in the future; recorded as now' },
  ])
  expect(await readSuppressions(ctx, { email: 'a@example.com' })).toMatchObject([
    { reason: 'BOUNCED', source: 'IMPORT', saidAt: '2020-01-02T03:04:05.000Z' },
  ])
  expect([await reasonsOf('b'), await reasonsOf('c')]).toEqual([['COMPLAINED'], ['OPTED_OUT']])
  const ndjson = '{"email":"f@example.com","reason":null}\n{"email":"g@example.com","note":"x"}\n[]\n'
  expect(await runTestSuppressionImport(ctx, ndjson, { format: 'ndjson', reason: 'BOUNCED' })).toMatchObject({
    created: 2,
    failed: 1,
    errors: [{ message: 'note: unknown field, left out' }, { message: 'Row is not a JSON object' }],
  })
  expect(await reasonsOf('f')).toEqual(['BOUNCED'])
})

test('an opt-out of one list stays one; of an unknown list it is of all', async () => {
  const [list, other] = [await createTestList(ctx), await createTestList(ctx)]
  const file = [
    'email,reason,listId,saidAt',
    `a@example.com,OPTED_OUT,${list.id},2020-01-01`,
    `b@example.com,OPTED_OUT,${newId('lst')},soon`,
    'c@example.com,OPTED_OUT,nope,',
    `d@example.com,BOUNCED,${list.id},`,
  ].join('\n')
  const record = await runTestSuppressionImport(ctx, file)
  expect(record).toMatchObject({ created: 4, failed: 0 })
  expect(record.errors.map(({ line }) => line)).toEqual([3, 3, 4, 5])
  const listsOf = async (name: string) =>
    (await readSuppressions(ctx, { email: `${name}@example.com`, listId: 'any' })).map(({ listId }) => listId)
  expect([await listsOf('a'), await listsOf('b'), await listsOf('c'), await listsOf('d')]).toEqual([
    [list.id],
    [null],
    [null],
    [null],
  ])
  expect(await readSuppressions(ctx, { email: 'a@example.com', listId: other.id })).toEqual([])
})

test('ends subscriptions at once; a dry run counts the same and ends none', async () => {
  const list = await createTestList(ctx)
  const [id] = await addSubscribers(ctx, list.id, { count: 1, status: 'CONFIRMED', name: 'ada' })
  const file = 'ada-1@example.com\nada-1@example.com\nzoe@example.com\n'
  const counts = { created: 2, updated: 1, skipped: 0, suppressed: 3 }
  expect(await runTestSuppressionImport(ctx, file, { dryRun: 'true' })).toMatchObject(counts)
  expect(await countRows(ctx, 'suppressions')).toBe(0)
  expect(await runTestSuppressionImport(ctx, file, { events: 'each' })).toMatchObject(counts)
  expect(id && (await readSubscriber(ctx, list.id, id)).status).toBe('UNSUBSCRIBED')
  expect(await listEventTypes(ctx)).toEqual(['subscription.unsubscribed', 'import.completed'])
})

test('what was said before a contact was created again holds in the next system', async () => {
  const email = 'ada@example.com'
  const { id } = await createTestContact(ctx, { email })
  await runTestSuppressionImport(ctx, `email,reason\n${email},OPTED_OUT\n`)
  await deleteContact(ctx, id)
  expect((await createTestContact(ctx, { email })).emailSubscribedStatus).toBe('NONE')
  const { data } = await listSuppressions(ctx, { email, listId: 'any', limit: 10, sort: '-createdAt' })
  const said = data.map(({ reason, listId, saidAt }) => [email, reason, listId ?? '', saidAt].join(','))
  const next = await createTestCtx(database.db)
  await runTestSuppressionImport(next, ['email,reason,listId,saidAt', ...said].join('\n'))
  await runTestImport(next, `email\n${email}`, { listId: (await createTestList(next)).id })
  expect((await findContactByEmail(next, email))?.emailSubscribedStatus).toBe('UNSUBSCRIBED')
})

async function reasonsOf(name: string) {
  const reasons = await readSuppressions(ctx, { email: `${name}@example.com` })
  return reasons.map(({ reason }) => reason)
}
