import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import {
  addSubscribers,
  createTestContact,
  createTestList,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { countRows, runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import type { ListId } from '../kernel/ids.ts'
import { uuidOf } from '../kernel/ids.ts'
import { listSubscriptionsOfContact } from '../consent/list-subscriptions-of-contact.ts'
import { readSuppressions } from '../consent/consent-records.ts'
import { suppress } from '../suppressions/suppress.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('a status says what becomes of a person, with and without a list', async () => {
  const file = [
    'email,status',
    'yes@example.com,confirmed',
    'asked@example.com,Unconfirmed',
    'never@example.com,non-subscribed',
    'empty@example.com,',
    'left@example.com,unsubscribed',
    'blocked@example.com,blocklisted',
    'dead@example.com,cleaned',
    'angry@example.com,complained',
    'odd@example.com,perhaps',
  ].join('\n')
  const list = await createTestList(ctx)
  const record = await runTestImport(ctx, file, { listId: list.id })
  expect(record).toMatchObject({ created: 8, failed: 1, confirmed: 1, optedOut: 1, suppressed: 3 })
  expect(record.errors[0]).toMatchObject({
    line: 10,
    message: expect.stringMatching(/^status: unknown status\. Known words: confirmed, /),
  })
  expect(await statusesOn(list.id)).toEqual({ yes: 'CONFIRMED', asked: 'PENDING', left: 'UNSUBSCRIBED' })
  expect(await contactStatuses()).toEqual({
    yes: 'SUBSCRIBED',
    asked: 'PENDING',
    never: 'NONE',
    empty: 'NONE',
    left: 'UNSUBSCRIBED',
    blocked: 'UNSUBSCRIBED',
    dead: 'BOUNCED',
    angry: 'COMPLAINED',
  })
  expect(await reasonsOf('left')).toEqual([])
  expect(await reasonsOf('blocked')).toEqual(['OPTED_OUT'])

  expect(await runTestImport(ctx, file)).toMatchObject({ confirmed: 0, optedOut: 0, suppressed: 4 })
  expect(await reasonsOf('left')).toEqual(['OPTED_OUT'])
})

test('a bounce concerns the address of its row, a complaint each address of the person', async () => {
  for (const name of ['ada', 'eve']) await createTestContact(ctx, { email: `${name}@old.example`, externalId: name })
  await runTestImport(ctx, 'externalId,email,status\nada,ada@new.example,bounced\neve,eve@new.example,complained')
  const reasons = async (email: string) => (await readSuppressions(ctx, { email })).map(({ reason }) => reason)
  expect([await reasons('ada@old.example'), await reasons('ada@new.example')]).toEqual([[], ['BOUNCED']])
  expect([await reasons('eve@old.example'), await reasons('eve@new.example')]).toEqual([['COMPLAINED'], ['COMPLAINED']])
})

test.each(['skip', 'update'])('an opt-out wins in whatever row, format and chunk, on %s', async (onConflict) => {
  const people = Array.from({ length: 2_500 }, (_, index) => `person${index}@example.com`)
  const confirmed = people.map((email) => ({ email, status: 'CONFIRMED' }))
  const optOuts = [
    { email: 'PERSON1@example.com', status: 'UNSUBSCRIBED' },
    { email: 'person2@example.com', status: 'BOUNCED', nickname: 'P' },
    { email: 'person2499@example.com', status: 'COMPLAINED' },
  ]
  const orders = [
    [...confirmed, ...optOuts],
    [...optOuts, ...confirmed],
  ]
  // At the gate, each order has one of the two.
  const tried = isFullRun ? orders : orders.slice(onConflict === 'skip' ? 0 : 1).slice(0, 1)
  for (const rows of tried) {
    const list = await createTestList(ctx)
    const file = rows.map((row) => `${JSON.stringify(row)}\n`)
    const record = await runTestImport(ctx, file, { format: 'ndjson', listId: list.id, onConflict })
    expect(record).toMatchObject({ confirmed: 2_497, optedOut: 1, suppressed: 2, failed: 1 })
    const statuses = await statusesOn(list.id)
    expect(Object.values(statuses).filter((status) => status === 'CONFIRMED')).toHaveLength(2_497)
    // A contact keeps the spelling of its first row.
    const first = statuses['person1'] ?? statuses['PERSON1']
    expect([first, statuses['person2'], statuses['person2499']]).toEqual(['UNSUBSCRIBED', undefined, undefined])
  }
})

test('a dry run counts the same and writes nothing', async () => {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: 1, status: 'UNSUBSCRIBED', name: 'left' })
  await suppress(ctx, [{ email: 'bounced@example.com', reason: 'BOUNCED', source: 'API' }], { emitsEvents: false })
  const file = [
    'email,externalId,status',
    'left-1@example.com,,active',
    'bounced@example.com,,active',
    'new@example.com,1,active',
    'new@example.com,1,active',
    'moved@example.com,2,active',
    'before@example.com,2,unsubscribed',
    'dead@example.com,,bounced',
    'both@example.com,,active',
    'both@example.com,,unsubscribed',
  ].join('\n')
  const options = { listId: list.id, onConflict: 'update' }
  const dryRun = await runTestImport(ctx, file, { ...options, dryRun: 'true' })
  expect(await countRows(ctx, 'contacts')).toBe(1)
  expect(await countRows(ctx, 'suppressions')).toBe(1)
  expect(await countRows(ctx, 'import_seen')).toBe(0)
  const record = await runTestImport(ctx, file, options)
  const counts = { confirmed: 2, optedOut: 2, suppressed: 1, created: 5, updated: 1 }
  expect([dryRun, record]).toMatchObject([counts, counts])
})

test('the opt-out of a person holds for the address of their contact too', async () => {
  const list = await createTestList(ctx)
  const contact = await createTestContact(ctx, { email: 'now@example.com', externalId: 'u1' })
  await runTestImport(ctx, 'email\nnow@example.com', { listId: list.id })
  const file = 'externalId,email,status\nu1,then@example.com,blocklisted\nu2,other@example.com,bounced\n'
  await runTestImport(ctx, file, { listId: list.id })
  expect(await contactStatuses()).toEqual({ now: 'UNSUBSCRIBED', other: 'BOUNCED' })
  expect([await reasonsOf('now'), await reasonsOf('then'), await reasonsOf('other')]).toEqual([
    ['OPTED_OUT'],
    ['OPTED_OUT'],
    ['BOUNCED'],
  ])
  expect((await findContactByEmail(ctx, contact.email))?.externalId).toBe('u1')
})

test.each([
  ['before', 'u1,then@example.com,unsubscribed\nu1,now@example.com,confirmed\n'],
  ['after', 'u1,now@example.com,confirmed\nu1,then@example.com,unsubscribed\n'],
  ['without an address after', 'u1,now@example.com,confirmed\nu1,,unsubscribed\n'],
])('an opt-out under an external id wins, %s the confirmation', async (_name, rows) => {
  for (const onConflict of ['skip', 'update']) {
    const list = await createTestList(ctx)
    await runTestImport(ctx, `externalId,email,status\n${rows}`, { listId: list.id, onConflict })
    expect(Object.values(await statusesOn(list.id))).not.toContain('CONFIRMED')
    // Also for a file that does not know the external id.
    await runTestImport(ctx, 'email,status\nnow@example.com,confirmed\n', { listId: list.id })
    const contact = await findContactByEmail(ctx, 'now@example.com')
    const mailable = Object.values(await statusesOn(list.id)).includes('CONFIRMED')
    expect(mailable && contact?.externalId === 'u1').toBe(false)
  }
})

test.each(['skip', 'update'])('an opt-out by external id wins over an earlier chunk, on %s', async (onConflict) => {
  const list = await createTestList(ctx)
  const padding = Array.from({ length: 1_000 }, (_, index) => `,padding${index}@example.com,none\n`)
  const rows = ['u1,now@example.com,confirmed\n', ...padding, 'u1,,unsubscribed\n']
  const file = ['externalId,email,status\n', ...rows]
  const record = await runTestImport(ctx, file, { listId: list.id, onConflict, events: 'each' })
  expect(record).toMatchObject({ confirmed: 0, optedOut: 1, created: 1_001 })
  expect(await listEventTypes(ctx)).not.toContain('subscription.confirmed')
  expect((await statusesOn(list.id))['now']).not.toBe('CONFIRMED')
})

test('a confirmation of a former address does not hold for an opt-out at the next one', async () => {
  const list = await createTestList(ctx)
  const rows = 'z,one@example.com,confirmed\nz,two@example.com,confirmed\n,two@example.com,blocklisted\n'
  await runTestImport(ctx, `externalId,email,status\n${rows}`, { listId: list.id, onConflict: 'update' })
  expect(Object.values(await statusesOn(list.id))).not.toContain('CONFIRMED')
})

test('stored opt-outs win over a confirmation, and an opt-out ends what is stored', async () => {
  const list = await createTestList(ctx)
  const statuses = ['PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'COMPLAINED'] as const
  for (const status of statuses) await addSubscribers(ctx, list.id, { count: 1, status, name: status })
  const file = (status: string) =>
    `email,status\n${statuses.map((name) => `${name}-1@example.com,${status}\n`).join('')}`
  await runTestImport(ctx, file('subscribed'), { listId: list.id })
  const stored = {
    'PENDING-1': 'CONFIRMED',
    'CONFIRMED-1': 'CONFIRMED',
    'UNSUBSCRIBED-1': 'UNSUBSCRIBED',
    'COMPLAINED-1': 'COMPLAINED',
  }
  expect(await statusesOn(list.id)).toEqual(stored)
  await runTestImport(ctx, file('pending'), { listId: list.id })
  expect(await statusesOn(list.id)).toEqual(stored)
  await runTestImport(ctx, file('unsubscribed'), { listId: list.id, events: 'each' })
  expect(await statusesOn(list.id)).toEqual({ ...stored, 'PENDING-1': 'UNSUBSCRIBED', 'CONFIRMED-1': 'UNSUBSCRIBED' })
  expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed')).toHaveLength(2)
})

test('an opt-out counts although another cell of its row is wrong, in CSV and NDJSON', async () => {
  const list = await createTestList(ctx)
  const csv = 'email,name,attributes,status\nada@example.com,Ada,"{""unknown"": 1}",blocklisted\n'
  expect(await runTestImport(ctx, csv, { listId: list.id, source: 'listmonk' })).toMatchObject({
    failed: 1,
    suppressed: 1,
  })
  const row = { email: 'zoe@example.com', status: 'complained', company: '\ud800', nickname: 'Z' }
  const record = await runTestImport(ctx, JSON.stringify(row), { listId: list.id, format: 'ndjson' })
  expect(record).toMatchObject({ failed: 1, suppressed: 1 })
  expect([await reasonsOf('ada'), await reasonsOf('zoe')]).toEqual([['OPTED_OUT'], ['COMPLAINED']])
})

test('a row with half of a character in a name is an error of this row', async () => {
  const rows = ['{"email":"ada@example.com","\\ud800":1}', '{"email":"zoe@example.com"}'].join('\n')
  expect(await runTestImport(ctx, rows, { format: 'ndjson' })).toMatchObject({
    status: 'COMPLETED',
    created: 1,
    failed: 1,
  })
})

test('the columns of other systems are unknown fields in NDJSON', async () => {
  const record = await runTestImport(ctx, '{"email":"ada@example.com","resend.unsubscribed":"true"}', {
    format: 'ndjson',
  })
  expect(record).toMatchObject({ failed: 1, errors: [{ message: 'resend.unsubscribed: unknown field' }] })
})

test('a new contact at a suppressed address shows the suppression', async () => {
  await suppress(ctx, [{ email: 'ada@example.com', reason: 'OPTED_OUT', source: 'API' }], { emitsEvents: false })
  await runTestImport(ctx, 'email\nada@example.com\nzoe@example.com')
  expect(await contactStatuses()).toEqual({ ada: 'UNSUBSCRIBED', zoe: 'NONE' })
})

test('the status of the request is one more: the stricter counts', async () => {
  const list = await createTestList(ctx)
  const file = 'email,status\nada@example.com,enabled\nzoe@example.com,blocklisted\n'
  expect(await runTestImport(ctx, file, { listId: list.id, status: 'UNSUBSCRIBED' })).toMatchObject({
    confirmed: 0,
    // A row with both kinds is suppressed.
    optedOut: 1,
    suppressed: 1,
  })
  expect(await runTestImport(ctx, 'email\nkay@example.com', { listId: list.id, status: 'NONE' })).toMatchObject({
    created: 1,
    confirmed: 0,
  })
})

test('the proof of consent keeps what the source claims', async () => {
  const list = await createTestList(ctx)
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const file = [
    'email,confirmedAt,optInAddress',
    'ada@example.com,2020-02-29 10:00:00,203.0.113.7',
    'zoe@example.com,,',
    `kay@example.com,${soon},`,
    'max@example.com,2999-01-01,',
    'eve@example.com,,203.0.113.8',
  ].join('\n')
  const record = await runTestImport(ctx, file, { listId: list.id })
  expect(record.errors).toEqual([{ line: 5, message: 'confirmedAt: must not be in the future' }])
  const ada = await proofOf('ada@example.com')
  expect(ada).toMatchObject({
    confirmedAt: '2020-02-29T10:00:00.000Z',
    consents: [
      {
        method: 'IMPORT',
        confirmedAt: '2020-02-29T10:00:00.000Z',
        address: '203.0.113.7',
        claimed: true,
        importId: record.id,
      },
    ],
  })
  expect(await proofOf('zoe@example.com')).toMatchObject({ consents: [{ address: null, claimed: false }] })
  const [recorded] = (await proofOf('eve@example.com'))?.consents ?? []
  expect(recorded).toMatchObject({ address: '203.0.113.8', claimed: true, confirmedAt: recorded?.at })
  const kay = await proofOf('kay@example.com')
  expect(kay?.consents[0]?.claimed).toBe(true)
  expect(Date.parse(kay?.confirmedAt ?? '')).toBeLessThanOrEqual(Date.now())
})

async function proofOf(email: string) {
  const contact = await findContactByEmail(ctx, email)
  const page = contact && (await listSubscriptionsOfContact(ctx, contact.id, { limit: 10 }))
  return page?.data[0]
}

async function reasonsOf(name: string) {
  const reasons = await readSuppressions(ctx, { email: `${name}@example.com` })
  return reasons.map(({ reason }) => reason)
}

async function statusesOn(listId: ListId): Promise<Record<string, string>> {
  const { rows } = await database.db.execute<{ name: string; status: string }>(sql`
    select split_part(c.email, '@', 1) as name, s.status from subscriptions s
    join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id
    where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.list_id = ${uuidOf(listId)}`)
  return Object.fromEntries(rows.map(({ name, status }) => [name, status]))
}

async function contactStatuses(): Promise<Record<string, string>> {
  const { rows } = await database.db.execute<{ name: string; status: string }>(sql`
    select split_part(email, '@', 1) as name, email_subscribed_status as status from contacts
    where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  return Object.fromEntries(rows.map(({ name, status }) => [name, status]))
}
