/** Rows that say when or that a person left, in whatever column, are opt-outs. No such column is left out. */
import { addSubscribers, createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { readSuppressions } from '../consent/consent-records.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { addSubscriber, removeSubscriber } from '../lists/subscribers.ts'
import { liftSuppression } from '../suppressions/lift-suppression.ts'
import { createSuppression } from '../suppressions/suppressions.ts'
import { readImport } from './imports.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const statusOf = async (name: string) => (await findContactByEmail(ctx, `${name}@example.com`))?.emailSubscribedStatus
const exportOfA = 'email,emailSubscribedStatus\na@example.com,UNSUBSCRIBED\n'
const saidOf = (name: string) => readSuppressions(ctx, { email: `${name}@example.com`, listId: 'any' })

test.each([
  ['csv', 'email,unsubscribedAt\na@example.com,2020-01-02\nb@example.com,0000-00-00\nc@example.com,soon\n'],
  [
    'csv',
    'email,status,Unsubscribed on\na@example.com,CONFIRMED,2020-01-02\nb@example.com,active,\nc@example.com,active,x\n',
  ],
  ['csv', 'email,unsub_time\na@example.com,2 Jan 2020\nb@example.com,n/a\nc@example.com,yes\n'],
  [
    'ndjson',
    '{"email":"a@example.com","unsubscribedAt":"2020-01-02"}\n{"email":"b@example.com","unsubscribedAt":null}\n{"email":"c@example.com","unsubscribedAt":true}\n',
  ],
  [
    'ndjson',
    '{"email":"a@example.com","status":"CONFIRMED","unsubscribedAt":"1577923200"}\n{"email":"b@example.com","unsubscribedAt":false}\n{"email":"c@example.com","unsubscribedAt":"?"}\n',
  ],
] as const)('a person who left is not confirmed, whatever the moment: %s %s', async (format, file) => {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: 1, status: 'CONFIRMED', name: 'before' })
  expect(await runTestImport(ctx, file, { format, listId: list.id })).toMatchObject({
    optedOut: 2,
    confirmed: 1,
    failed: 0,
  })
  expect([await statusOf('a'), await statusOf('b'), await statusOf('c')]).toEqual([
    'UNSUBSCRIBED',
    'SUBSCRIBED',
    'UNSUBSCRIBED',
  ])
  expect(await saidOf('a')).toMatchObject([
    { reason: 'OPTED_OUT', listId: list.id, saidAt: '2020-01-02T00:00:00.000Z' },
  ])
})

test('a bounce with its moment is a bounce, and no opt-out of the person', async () => {
  await runTestImport(ctx, 'email,status,unsubscribedAt\na@example.com,cleaned,2020-01-02\n')
  expect((await saidOf('a')).map(({ reason }) => reason)).toEqual(['BOUNCED'])
})

test.each([
  ['csv', 'email,emailSubscribedStatus\na@example.com,UNSUBSCRIBED\nb@example.com,BOUNCED\nc@example.com,NONE\n'],
  [
    'ndjson',
    ['UNSUBSCRIBED', 'BOUNCED', 'SUBSCRIBED']
      .map((one, at) => JSON.stringify({ email: `${'abc'[at]}@example.com`, emailSubscribedStatus: one }))
      .join('\n'),
  ],
] as const)('an export of another workspace opts out whom it shows as unsubscribed (%s)', async (format, file) => {
  const list = await createTestList(ctx)
  expect(await runTestImport(ctx, file, { format, listId: list.id })).toMatchObject({
    confirmed: 1,
    optedOut: 1,
    suppressed: 1,
  })
  expect([await statusOf('a'), await statusOf('b'), await statusOf('c')]).toEqual([
    'UNSUBSCRIBED',
    'BOUNCED',
    'SUBSCRIBED',
  ])
})

test('an export that comes back to its workspace says nothing new', async () => {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: 1, status: 'UNSUBSCRIBED', name: 'left' })
  const file = 'email,company,emailSubscribedStatus\nleft-1@example.com,Acme,UNSUBSCRIBED\n'
  const counts = { updated: 1, optedOut: 0, suppressed: 0, confirmed: 0 }
  expect(await runTestImport(ctx, file, { onConflict: 'update' })).toMatchObject(counts)
  const other = await createTestList(ctx)
  expect(await runTestImport(ctx, file, { onConflict: 'update', listId: other.id })).toMatchObject({
    ...counts,
    updated: 0,
  })
  const said = await readSuppressions(ctx, { email: 'left-1@example.com', listId: 'any' })
  expect(said.filter(({ source }) => source === 'IMPORT')).toEqual([])
})

test('an export that comes back opts no one out whom the operator removed', async () => {
  const list = await createTestList(ctx)
  const { subscription } = await addSubscriber(ctx, list.id, { email: 'a@example.com', status: 'CONFIRMED' })
  await removeSubscriber(ctx, list.id, subscription.contactId)
  expect(await runTestImport(ctx, exportOfA, { listId: list.id })).toMatchObject({ optedOut: 0, suppressed: 0 })
  expect(await saidOf('a')).toEqual([])
})

test('an opt-out that an export sums up is new of a contact that is only blocked', async () => {
  const list = await createTestList(ctx)
  await addSubscriber(ctx, list.id, { email: 'a@example.com', status: 'CONFIRMED' })
  const { suppression } = await createSuppression(ctx, { email: 'a@example.com', reason: 'MANUAL' })
  const columns = '{"emailSubscribedStatus":null}'
  expect(await runTestImport(ctx, exportOfA, { listId: list.id, columns })).toMatchObject({ optedOut: 0 })
  expect(await runTestImport(ctx, exportOfA, { listId: list.id })).toMatchObject({ optedOut: 1 })
  expect(await runTestImport(ctx, exportOfA, { listId: list.id })).toMatchObject({ optedOut: 0 })
  await liftSuppression(ctx, suppression.id, { note: 'lifted' })
  expect(await statusOf('a')).toBe('UNSUBSCRIBED')
})

test.each([
  ['the request', 'email,emailSubscribedStatus\nada@example.com,UNSUBSCRIBED\n', 'UNSUBSCRIBED'],
  ['a column', 'email,status,emailSubscribedStatus\nada@example.com,UNSUBSCRIBED,UNSUBSCRIBED\n', undefined],
  ['a moment', 'email,unsubscribedAt,emailSubscribedStatus\nada@example.com,2020-01-02,UNSUBSCRIBED\n', undefined],
] as const)('an opt-out that %s states is recorded for each list', async (_, file, status) => {
  const lists = [await createTestList(ctx), await createTestList(ctx)]
  for (const { id: listId } of lists)
    expect(await runTestImport(ctx, file, { listId, status })).toMatchObject({ optedOut: 1 })
  const said = await readSuppressions(ctx, { email: 'ada@example.com', listId: 'any' })
  expect(said.map(({ listId }) => listId)).toEqual(lists.map(({ id }) => id))
})

test.each([
  ['subscribed_to_emails', 'true', 'false'],
  ['Subscribed To Newsletter', 'ja', 'NEIN'],
  ['Unsubscribed from all email', 'No', 'Yes'],
  ['do_not_contact', '0', '1'],
  ['doNotEmail', '', 'TRUE'],
  ['Do not contact', 'faux', '2'],
  ['Email Opt Out', 'não', 'sim'],
  ['mailchimp_woocommerce_is_subscribed', '1', '0'],
  ['Email Marketing Status', 'subscribed', 'unsubscribed'],
  ['Accepts Email Marketing', 'sí', 'no'],
  ['Marked as spam', 'falso', 'vero'],
])('the column %s is read, also with unknownColumns=ignore', async (column, mailable, other) => {
  const list = await createTestList(ctx)
  const file = `email,${column}\na@example.com,${mailable}\nb@example.com,${other}\n`
  expect(await runTestImport(ctx, file, { listId: list.id, unknownColumns: 'ignore' })).toMatchObject({
    confirmed: 1,
    failed: 0,
  })
  expect(await statusOf('a')).toBe('SUBSCRIBED')
  expect(await statusOf('b')).not.toBe('SUBSCRIBED')
})

test.each([
  ['Abgemeldet', 'ja', 'nein'],
  ['Désabonné', 'oui', 'non'],
  ['Baja', 'sí', 'no'],
  ['Disiscritto', 'sì', 'no'],
  ['Descadastrado', 'sim', 'não'],
  ['Gave up newsletter: optout', 'true', 'false'],
])('the column %s is not left out, and yes opts out when it is mapped to status', async (column, yes, no) => {
  const list = await createTestList(ctx)
  const file = `email,"${column}"\na@example.com,${yes}\nb@example.com,${no}\n`
  const options = { listId: list.id, unknownColumns: 'ignore' }
  await expect(runTestImport(ctx, file, options)).rejects.toThrow(/says who wants emails.*columns=\{/s)
  expect(await runTestImport(ctx, file, { ...options, columns: JSON.stringify({ [column]: 'status' }) })).toMatchObject(
    { confirmed: 1, suppressed: 1 },
  )
  expect(await statusOf('a')).toBe('UNSUBSCRIBED')
})

test.each(['Newsletter status', 'Lists', 'Notes'])(
  'a value that speaks of an opt-out keeps the column %s',
  async (column) => {
    const list = await createTestList(ctx)
    const file = `email,${column}\na@example.com,x\nb@example.com,Unsubscribed\n`
    const options = { listId: list.id, unknownColumns: 'ignore' }
    await expect(runTestImport(ctx, file, options)).rejects.toThrow(/says who wants emails/)
    expect(await runTestImport(ctx, file, { ...options, columns: JSON.stringify({ [column]: null }) })).toMatchObject({
      confirmed: 2,
    })
  },
)

test('such a value far down in the file fails the import before a contact is written', async () => {
  const list = await createTestList(ctx)
  const rows = Array.from({ length: 1_200 }, (_, at) => `person${at}@example.com,${'a remark '.repeat(110)}\n`)
  const file = ['email,Notes\n', ...rows, 'last@example.com,opted out\n']
  const error = await runTestImport(ctx, file, { listId: list.id, unknownColumns: 'ignore' }).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'validation_error', details: { line: 1_202 } })
  expect(await findContactByEmail(ctx, 'person0@example.com')).toBeUndefined()
})

test('a column of opt-outs that has the name of a custom field must be told apart', async () => {
  await createCustomField(ctx, { key: 'do_not_contact', label: 'Do not contact', type: 'BOOLEAN', options: [] })
  const file = 'email,Do not contact\na@example.com,true\n'
  await expect(runTestImport(ctx, file)).rejects.toThrow('is the property status and a custom field')
  expect(await runTestImport(ctx, file, { columns: '{"Do not contact":"status"}' })).toMatchObject({ suppressed: 1 })
})

test('a file of opt-outs needs no consent, and without it no row confirms', async () => {
  const list = await createTestList(ctx)
  const file = 'email,status\na@example.com,UNSUBSCRIBED\nb@example.com,CONFIRMED\nc@example.com,pending\n'
  const record = await runTestImport(ctx, file, { listId: list.id, consent: 'none' })
  expect(record).toMatchObject({ created: 2, optedOut: 1, confirmed: 0, failed: 1 })
  expect(record.errors).toEqual([{ line: 3, message: 'status: confirms the person: send consent=confirmed' }])
  for (const wrong of ['email\na@example.com\n', 'email,confirmedAt\na@example.com,2020-01-02\n'])
    await expect(runTestImport(ctx, wrong, { listId: list.id, consent: 'none' })).rejects.toThrow(/consent/)
})

test.each(['', 'true'])('an opt-out under an unknown external id is an error (dry run: %s)', async (dryRun) => {
  const list = await createTestList(ctx)
  await createTestContact(ctx, { email: 'known@example.com', externalId: 'known' })
  const file = 'externalId,status\nnobody,UNSUBSCRIBED\nknown,UNSUBSCRIBED\nnobody,complained\n'
  const record = await runTestImport(ctx, file, { listId: list.id, ...(dryRun && { dryRun }) })
  expect(record).toMatchObject({ failed: 2, optedOut: 1, suppressed: 0 })
  expect(record.errorCounts).toEqual([
    { column: 'externalId', message: expect.stringMatching(/^no contact has it/), count: 2 },
  ])
})

test('a key that JSON has twice is an error of the upload, or of its row', async () => {
  const twice = '{"email":"a@example.com","status":"complained","email":"b@example.com"}'
  await expect(runTestImport(ctx, twice, { format: 'ndjson' })).rejects.toThrow('Line 1: Row has the key "email" twice')
  const nested = '{"email":"a@example.com","customFieldValues":{"x":1,"x":2}}'
  await expect(runTestImport(ctx, nested, { format: 'ndjson' })).rejects.toThrow('the key "customFieldValues.x" twice')
  const rows = Array.from(
    { length: 1_200 },
    (_, at) => `{"email":"p${at}@example.com","company":"a \\"x\\": ${'y'.repeat(180)}"}${' '.repeat(700)}\n`,
  )
  const record = await runTestImport(ctx, [...rows, `${twice}\n`], { format: 'ndjson' })
  expect(await readImport(ctx, record.id)).toMatchObject({ created: 1_200, failed: 1 })
})
