/**
 * Kinds of input from public bug reports, by their numbers, each in other spellings than the report: of other systems, in
 * other languages. What the upload answers is `refused`.
 */
import { readContactFile, readSuppressionFile } from '@rapport/testing/files/import-files.ts'
import { expect, test } from 'vitest'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import { parseMoment } from './words/file-moment.ts'
import { type SourceName, sources } from './columns/sources.ts'

const fields: CustomFields = new Map([
  ['city', { label: 'City', type: 'TEXT', options: [] }],
  ['born', { label: 'Born', type: 'DATE', options: [] }],
])
const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
const toFile = (...rows: readonly (readonly string[])[]) => rows.map((row) => `${row.map(quote).join(',')}\n`).join('')

/** The status of each person, or `refused`, with unknown columns left out. */
async function readStatuses(file: string, columns?: Record<string, string>) {
  const rows = await readContactFile(file, { unknownColumns: 'ignore', columns }).catch(() => [])
  if (rows.length === 0) return 'refused'
  return rows.map((row) => ('contact' in row ? (row.status?.statuses.join() ?? 'unsaid') : 'error'))
}
async function readReasons(file: string) {
  const rows = await readSuppressionFile(file)
  return rows.flatMap((row) =>
    'emails' in row ? row.emails.map((email) => [email, row.suppression.reason, row.suppression.saidAt ?? 'now']) : [],
  )
}
/** The first contact of a file. */
async function readContact(file: string, options: { source?: SourceName; columns?: Record<string, string> } = {}) {
  const { source, columns } = options
  const [row] = await readContactFile(file, { fields, columns, source: source && sources[source] })
  return row && 'contact' in row ? { ...row.contact, warnings: row.warnings?.length ?? 0 } : row
}

test.each([
  ['email_disabled (Substack)', 'TRUE', 'OPTED_OUT', 'FALSE'],
  ['confirmed (phpList)', '0', 'NONE', '1'],
  ['Email verified', 'no', 'NONE', 'yes'],
  ['activated (CleverReach)', '0', 'NONE', '1443651154'],
  ['deactivated (CleverReach)', '1443651154', 'UNSUBSCRIBED', '0'],
  ['emailAddressIsInvalid (EspoCRM)', '1', 'BOUNCED', '0'],
  ['Portal Spam Report (HubSpot)', 'TRUE', 'COMPLAINED', ''],
])('1: %s with %s is read, and the person is %s', async (title, ...[value, status, other]) => {
  const [column = ''] = title.split(' (')
  expect(await readStatuses(toFile(['email', column], ['a@example.com', value], ['b@example.com', other]))).toEqual([
    status,
    expect.stringMatching(/^(CONFIRMED|)$/),
  ])
})

test.each([
  'Abgemeldet',
  'Désabonné',
  'Dada de baja',
  'disiscritto',
  'Descadastrado',
  'Kein Newsletter',
  'unsubscribed on 2020-01-02',
  'User unsubscribed',
  '["UNSUBSCRIBE"]',
  'No emails please',
  'Bounced (hard)',
])('1: a column with the value "%s" is not left out', async (value) => {
  expect(await readStatuses(toFile(['email', 'Remark'], ['a@example.com', 'x'], ['b@example.com', value]))).toBe(
    'refused',
  )
})

test.each([
  'https://example.com/unsubscribe?id=1',
  'Our board discussed how long people take to find the link to unsubscribe in the footer',
  'Complaint about an order',
  'Opt outdoors',
])('1: a column with the value "%s" speaks of something else', async (value) => {
  expect(await readStatuses(toFile(['email', 'Remark'], ['a@example.com', value]))).toEqual(['unsaid'])
})

test.each(['active', 'Enabled', 'Aktiv', 'disabled'])(
  '1: the column %s is named before it is left out',
  async (column) => expect(await readStatuses(toFile(['email', column], ['a@example.com', '0']))).toBe('refused'),
)

test.each([
  ['Erhält Newsletter', 'x', ''],
  ['Accepte les e-mails', '✓', 'non'],
  ['Newsletter Marketing', '☑', '-'],
  ['Subscribed', '2020-01-02 03:04:05', 'FALSO'],
  ['Subscriber status (it)', 'Iscritto', 'Disiscritto'],
  ['Estado', 'Suscrito', 'Dado de baja'],
  ['Email permission', 'Express', 'No Permissions Set'],
  ['Consent', 'Granted', 'Withdrawn'],
])('2: the column %s maps to status: %j confirms, %j does not', async (column, yes, no) => {
  const file = toFile(['email', column], ['a@example.com', yes], ['b@example.com', no])
  expect(await readStatuses(file, { [column]: 'status' })).toEqual([
    'CONFIRMED',
    expect.stringMatching(/^(NONE|UNSUBSCRIBED|OPTED_OUT)$/),
  ])
})

test.each(['1970-01-01 00:00:00', '#N/A', '0001-01-01T00:00:00Z', '[object Object]', 'le 31 février 2020'])(
  '3: the date %s keeps no address from being suppressed',
  async (date) => {
    const file = toFile(['E-Mail', 'Grund', 'Date'], ['a@example.com', 'x', date])
    expect(await readReasons(file.replace('Grund', 'Reason').replace('E-Mail', 'Email'))).toEqual([
      ['a@example.com', 'MANUAL', 'now'],
    ])
  },
)

test.each([
  ['Ada <a@example.com>', ['a@example.com']],
  ['"Love, Ada" <a@example.com>', ['a@example.com']],
  ['mailto:a@example.com?subject=x', ['a@example.com']],
  ["'a@example.com',", ['a@example.com']],
  ['a@example.com; b@example.com', ['a@example.com', 'b@example.com']],
])('3: each address in %s is suppressed', async (cell, addresses) => {
  const expected = addresses.map((address) => [address, 'COMPLAINED', 'now'])
  expect(await readReasons(toFile(['email', 'reason'], [cell, 'spam']))).toEqual(expected)
})

test('3: a list of addresses without a header may have names', async () => {
  expect(await readReasons('Ada <a@example.com>\n<b@example.com>\n')).toMatchObject([
    ['a@example.com', 'MANUAL', 'now'],
    ['b@example.com', 'MANUAL', 'now'],
  ])
})

test.each([
  [
    'Amazon SES',
    'EmailAddress,Reason,LastUpdateTime\na@example.com,COMPLAINT,1586555000.274\n',
    'COMPLAINED',
    '2020-04-10T21:43:20.000Z',
  ],
  [
    'Mailgun in its console',
    'Recipient Address,Created At (UTC),Type\na@example.com,2020-01-02 03:04:05,Unsubscribe\n',
    'OPTED_OUT',
    '2020-01-02T03:04:05.000Z',
  ],
  [
    'SparkPost',
    'recipient,type,source,description,created,updated,transactional,non_transactional\na@example.com,non_transactional,List Unsubscribe,,2020-01-02T03:04:05+00:00,2020,,true\n',
    'OPTED_OUT',
    '2020-01-02T03:04:05.000Z',
  ],
  [
    'MailUp',
    'Email,Phone,idList,OptOut_Date,optout_nl,optout_type\na@example.com,,1,20110122T111244,161,0\n',
    'MANUAL',
    '2011-01-22T11:12:44.000Z',
  ],
  [
    'a table of .NET',
    'Mail,Timestamp\na@example.com,/Date(1443651154000+0200)/\n',
    'MANUAL',
    '2015-09-30T22:12:34.000Z',
  ],
])('4: the dates of %s', async (...[, file, reason, saidAt]) => {
  expect(await readReasons(file)).toEqual([['a@example.com', reason, saidAt]])
})

test.each([
  [
    'Mandrill',
    'email,reason,detail,created_at,last_event_at,expires_at\na@example.com,hard-bounce,"550 mailbox unavailable",2020-01-02 03:04:05,,\n',
  ],
  [
    'HubSpot',
    'Email,Portal Bounce,Portal Unsubscribe,Portal Spam Report,Global Bounce\na@example.com,Unknown user,,,\n',
  ],
  ['SendGrid by RFC 3463', 'reason,email\n"smtp; 550 5.1.1 unknown",a@example.com\n'],
  ['a German server', 'email,error\na@example.com,Unbekannter Empfänger\n'],
])('5: the bounces that %s exports', async (_name, file) => {
  expect(await readReasons(file)).toMatchObject([['a@example.com', 'BOUNCED', expect.anything()]])
})

test.each([
  ['unsub', 'OPTED_OUT'],
  ['Widerspruch', 'OPTED_OUT'],
  ['désinscription', 'OPTED_OUT'],
  ['se dio de baja: dado de baja', 'OPTED_OUT'],
  ['fbl', 'COMPLAINED'],
  ['Spam-Beschwerde', 'COMPLAINED'],
  ['GDPR request', 'MANUAL'],
])('6: the reason %s suppresses as %s', async (word, reason) => {
  expect(await readReasons(toFile(['email', 'reason'], ['a@example.com', word]))).toEqual([
    ['a@example.com', reason, 'now'],
  ])
})

test('7: contacts of Keila with semicolons, and of Buttondown and Constant Contact', async () => {
  const keila = 'Email;First name;Last name;Data;Status\na@example.com;A;B;{};active\nb@example.com;;;{};unsubscribed\n'
  expect(await readStatuses(keila)).toEqual(['CONFIRMED', 'UNSUBSCRIBED'])
  const status = { Status: 'status' }
  expect(await readStatuses('Email|Status\na@example.com|spammy\nb@example.com|unactivated\n', status)).toEqual([
    'COMPLAINED',
    'PENDING',
  ])
  const permission = 'Email permission status'
  expect(
    await readStatuses(toFile(['Email', permission], ['a@x.example', 'Express'], ['b@x.example', 'Implied'])),
  ).toEqual(['CONFIRMED', 'NONE'])
})

test.each([
  ['Twenty and EspoCRM', '["Sports","Q1, 2016"]', ['Sports', 'Q1, 2016']],
  ['Python', "['Sports', 'Q1, 2016']", ['Sports', 'Q1, 2016']],
  ['PostgreSQL', '{Sports,Music}', ['Sports', 'Music']],
  ['Airtable', 'Sports\nMusic', ['Sports', 'Music']],
  ['FluentCRM', '[W1,W2]', ['W1', 'W2']],
  ['a person', '[VIP];Sports', ['[VIP]', 'Sports']],
])('8: the tags of %s', async (_name, cell, tags) => {
  expect(
    await readContact(toFile(['email', 'Labels'], ['a@example.com', cell]), { columns: { Labels: 'tags' } }),
  ).toMatchObject({ tags, warnings: 0 })
})

test.each(['[]', 'null', '#N/A'])('8: %s is no tag', async (cell) => {
  const contact = await readContact(toFile(['email', 'tags'], ['a@example.com', cell]))
  expect(contact).toMatchObject({ email: 'a@example.com', warnings: 0 })
  expect(contact).not.toHaveProperty('tags.0')
})

test.each([
  ['Go', '0001-01-01 00:00:00 +0000 UTC'],
  ['.NET', '1/1/0001 12:00:00 AM'],
  ['PHP', '-0001-11-30T00:00:00+00:00'],
  ['a spreadsheet', '1899-12-30 00:00:00'],
  ['SQL Server', '1900-01-00'],
])('9: the date of %s that stands for none is none', async (_name, date) => {
  expect(
    await readContactFile(toFile(['email', 'confirmedAt', 'unsubscribedAt'], ['a@example.com', date, date])),
  ).toMatchObject([{ contact: { email: 'a@example.com' }, status: { statuses: [], confirmedAt: undefined } }])
})

test('9: the start of 1970 is no moment of a consent or an opt-out, but a birthday', async () => {
  const date = '01.01.1970'
  const file = toFile(['email', 'confirmedAt', 'unsubscribedAt', 'born'], ['a@example.com', date, date, date])
  expect(await readContactFile(file, { fields })).toMatchObject([
    {
      contact: { customFieldValues: { born: '1970-01-01' } },
      status: { statuses: ['UNSUBSCRIBED'], confirmedAt: undefined, unsubscribedAt: undefined },
      warnings: [{ column: 'unsubscribedAt' }],
    },
  ])
})

test.each([
  'Mon Apr 18 13:51:14 UTC 2016',
  'Mon Apr 18 15:51:14 +0200 2016',
  '2016-04-18T15:51:14+02:00[Europe/Berlin]',
  'lundi 18 avril 2016 à 13h51:14',
  'lunedì 18 aprile 2016 alle ore 13.51.14',
  '18.04.2016 13:51:14 Uhr',
  'Apr 18, 2016 1:51:14 pm (UTC)',
  '1460987474000000',
])('10: the moment %s', (text) => {
  expect(parseMoment(text)?.toISOString()).toBe('2016-04-18T13:51:14.000Z')
})

test.each(['1.23457E14', '1.0E10', '-1,2e+09'])('11: the external id %s was shortened', async (id) => {
  expect(await readContact(toFile(['externalId', 'email'], [id, 'a@example.com']))).toMatchObject({
    column: 'externalId',
    message: expect.stringMatching(/shortened/),
  })
})

test.each(['NULL', '#N/A', '#WERT!', '########', 'undefined', '[object Object]', '-'])(
  '11: %s is no external id, so it makes no two people one',
  async (id) => {
    const contact = await readContact(toFile(['externalId', 'email', 'firstName'], [id, 'a@example.com', id]))
    expect(contact).toMatchObject({ email: 'a@example.com' })
    expect(contact).not.toHaveProperty('externalId')
    expect(await readContact(toFile(['externalId', 'email'], ['1', id]))).toMatchObject({ externalId: '1' })
  },
)

test.each([
  ['NULL', {}],
  ['nil', {}],
  ['"{}"', {}],
  ['"{\\"city\\": \\"Bern\\"}"', { city: 'Bern' }],
  ['{"city": 123456789012345678}', { city: '123456789012345678' }],
  ['{"city": [12345678901234567890, 0.5]}', { city: '["12345678901234567890",0.5]' }],
])('12: listmonk attributes %s', async (cell, values) => {
  const file = toFile(['uuid', 'email', 'name', 'attribs', 'status'], ['1', 'a@example.com', 'Ada', cell, 'enabled'])
  expect(await readContact(file, { source: 'listmonk' })).toMatchObject({ customFieldValues: values, warnings: 0 })
})

test('a contact is found by its address in the form of a mail program', async () => {
  expect(await readContact(toFile(['Email'], ['"Love, Ada" <Ada@example.com>']))).toMatchObject({
    email: 'Ada@example.com',
  })
  expect(await readContact(toFile(['Email'], ['a@example.com; b@example.com']))).toMatchObject({ column: 'email' })
})
