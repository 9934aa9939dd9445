import { expect, test, vi } from 'vitest'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import { SuppressionImportOptions } from '../imports.schema.ts'
import { createIgnoredCheck } from './consent-columns.ts'
import { findNdjsonStart, readHeader as readHeaderWith } from './import-header.ts'
import { createColumnMatcher, findCustomField } from './match-columns.ts'
import { createSuppressionColumnMatcher } from './match-suppression-columns.ts'

const fields: CustomFields = new Map([
  ['plan', { label: 'Tariff', type: 'TEXT', options: [] }],
  ['shoeSize', { label: 'Shoe size', type: 'NUMBER', options: [] }],
  ['mail', { label: 'Newsletters', type: 'TEXT', options: [] }],
  ['one', { label: 'Same', type: 'TEXT', options: [] }],
  ['two', { label: 'same', type: 'TEXT', options: [] }],
])

const matchColumns = (names: string[], fields: CustomFields) => createColumnMatcher({ fields }).match(names).columns
const readHeader = (head: Buffer, fields: CustomFields) => readHeaderWith(head, createColumnMatcher({ fields }))

test.each([
  ['email', ['Email', 'E-Mail', 'EMAIL', 'e_mail', ' email ', 'Email address', 'email_address', 'Ｅmail']],
  ['firstName', ['firstName', 'First Name', 'first_name', 'FIRSTNAME', 'first-name', 'Given Name', 'Forename']],
  ['lastName', ['lastName', 'Last Name', 'last_name', 'Surname', 'family name']],
  ['phone', ['Phone', 'phone_number', 'Telephone']],
  ['locale', ['Locale', 'Language', 'lang']],
  ['company', ['Company', 'Organization', 'organisation']],
  ['companyExternalId', ['companyExternalId', 'Company External ID']],
  ['companyDomain', ['companyDomain', 'company_domain']],
  ['companyName', ['companyName', 'Company Name']],
  ['tags', ['tags', 'Tags', 'TAG']],
  ['source', ['source', 'Source']],
  ['customFieldValues.plan', ['plan', 'Plan', 'Tariff', 'customField.plan', 'customFieldValues.plan']],
  ['customFieldValues.plan', ['custom_field.Plan', 'Custom Fields.tariff', 'custom-field-values.plan']],
  ['customFieldValues.shoeSize', ['shoeSize', 'shoe_size', 'Shoe Size', 'SHOESIZE', 'customField.shoe_size']],
  // A custom field takes precedence over another name of a property.
  ['customFieldValues.mail', ['mail', 'Newsletters']],
  [null, ['id', 'createdAt', 'Updated At', 'last_activity_at']],
  ['emailSubscribedStatus', ['emailSubscribedStatus', 'Email subscribed status']],
  ['', ['', '  ']],
])('maps to %s the columns named %j', (column, names) => {
  for (const name of names) {
    const columns = matchColumns(column === 'email' ? [name] : ['email', name], fields)
    expect([name, columns.at(-1)]).toEqual([name, column])
  }
})

test('names unknown columns and lists the known ones', () => {
  const names = ['email', 'Nickname', 'customField.nothing', 'Fav\u0007orite']
  expect(() => matchColumns(names, fields)).toThrow(
    'Unknown columns: "Nickname", "customField.nothing", "Fav\\u0007orite". Known columns: email, externalId, firstName, lastName, phone, company, ' +
      'locale, tags, source, companyId, name, companyExternalId, companyDomain, companyName, status, confirmedAt, unsubscribedAt, optInAddress, customField.plan, customField.shoeSize, customField.mail, customField.one, customField.two. ' +
      'Ignored columns: id, createdAt, updatedAt, lastActivityAt. ' +
      'Map the others with columns={"Mail":"email","Notes":null}, or leave them out with unknownColumns=ignore',
  )
})

test('names ten of a thousand unknown columns and counts the rest', () => {
  const names = ['email', ...Array.from({ length: 1_000 }, (_, index) => `column ${index}`)]
  expect(() => matchColumns(names, fields)).toThrow(/"column 9" and 990 more\./)
})

test('a label shared by two fields matches neither', () => {
  expect(() => matchColumns(['email', 'Same'], fields)).toThrow('Unknown columns: "Same"')
})

test('rejects a file without an email column and repeated columns', () => {
  expect(() => matchColumns(['First name'], fields)).toThrow(
    'The file has no column email or externalId. Known columns: email',
  )
  expect(() => matchColumns(['Email', 'e-mail'], fields)).toThrow('Two columns of the file map to email')
  expect(() => matchColumns(['email', 'plan', 'Tariff'], fields)).toThrow('Two columns of the file map to customField')
})

test.each([
  ['commas', 'email,company\n', ','],
  ['semicolons', 'email;"a,b,c";company\n'.replace('"a,b,c"', 'tags'), ';'],
  ['tabs', 'email\tcompany\r\n', '\t'],
  ['one column', 'email\n', ','],
  ['other delimiters in a quoted name', '"email";"phone";"company"\n', ';'],
  ['no line break', 'email;phone', ';'],
  ['CR line breaks', 'email;phone\rada@example.com;1\r', ';'],
])('detects the delimiter in a header with %s', async (_name, text, delimiter) => {
  const { layout } = await readHeader(Buffer.from(text), fields)
  expect(layout.delimiter).toBe(delimiter)
})

test.each([
  ['sep=;\nemail;phone\n', ';', { position: 18, line: 3 }],
  ['sep=;\r\nemail;phone\r\n', ';', { position: 20, line: 3 }],
  ['"sep=;"\nemail;phone\n', ';', { position: 20, line: 3 }],
  ['\ufeffSEP=,\nemail,phone\n', ',', { position: 21, line: 3 }],
  ['sep=\\t\nemail\tphone\n', '\t', { position: 19, line: 3 }],
  ['sep=\t\nemail\tphone\n', '\t', { position: 18, line: 3 }],
  ['sep=|\nemail|phone\n', '|', { position: 18, line: 3 }],
  ['sep=;;;\nemail;phone\n', ';', { position: 20, line: 3 }],
])('%j declares the separator', async (text, delimiter, start) => {
  expect(await readHeader(Buffer.from(text), fields)).toEqual({
    layout: { delimiter, columns: ['email', 'phone'] },
    start,
  })
})

test('the separator whose header names more known columns wins', async () => {
  const size: CustomFields = new Map([['size', { label: 'Size (S, M, L)', type: 'TEXT', options: [] }]])
  const { layout } = await readHeader(Buffer.from('Email;Size (S, M, L)\n'), size)
  expect(layout).toEqual({ delimiter: ';', columns: ['email', 'customFieldValues.size'] })
})

test('a line "sep=" alone is an empty file', async () => {
  await expect(readHeader(Buffer.from('sep=;\n'), fields)).rejects.toThrow('The file is empty')
})

test('a name loses invisible characters, and an unknown one shows them', async () => {
  const names = ['\u200bEmail', 'First\u00adName\u200e', '\ufeff Phone\u2060', 'Pl\u200ban']
  const { layout } = await readHeader(Buffer.from(names.join()), fields)
  expect(layout.columns).toEqual(['email', 'firstName', 'phone', 'customFieldValues.plan'])
  expect(() => matchColumns(['email', 'Nick\u200bname'], fields)).toThrow('Unknown columns: "Nick\\u200bname"')
})

test.each([
  ['XLSX, ODS or ZIP', Buffer.from('PK\u0003\u0004\u0014\u0000email')],
  ['XLS', Buffer.from('d0cf11e0a1b11ae1000000', 'hex')],
])('%s is rejected as a workbook', async (_name, bytes) => {
  await expect(readHeader(bytes, fields)).rejects.toThrow('save it as "CSV UTF-8"')
  expect(() => findNdjsonStart(bytes)).toThrow('is a workbook of Excel')
})

test.each([
  ['LF', 'email\nada@example.com\n', { position: 6, line: 2 }],
  ['CRLF', 'email\r\nada@example.com\r\n', { position: 7, line: 2 }],
  ['a byte order mark', '\ufeffemail\nada@example.com\n', { position: 9, line: 2 }],
  ['leading empty lines', '\n\r\nemail\nada@example.com', { position: 9, line: 4 }],
  ['a line break in a name', '"e\r\nmail",company\nada@example.com,', { position: 18, line: 3 }],
  ['no rows', 'email', { position: 5, line: 1 }],
])('finds the first row after a header with %s', async (_name, text, start) => {
  expect((await readHeader(Buffer.from(text), fields)).start).toEqual(start)
})

test.each([
  ['no content', '', 'The file is empty'],
  ['only empty lines', '\n\r\n\n', 'The file is empty'],
  ['only a byte order mark', '\ufeff', 'The file is empty'],
  ['UTF-16', Buffer.from('\ufeffemail\n', 'utf16le'), 'The file is encoded in UTF-16: save it as "CSV UTF-8"'],
  ['Latin-1', Buffer.from('email,Straße\n', 'latin1'), 'The header cannot be read: Row is not valid UTF-8'],
  ['a stray quotation mark', 'email,"na"me\n', 'The header cannot be read: Row has a quotation mark inside a cell'],
  ['an unclosed quote', `email,"${'x'.repeat(70_000)}`, /The header (cannot be read|is larger than 64 KiB)/],
  ['more than 64 KiB', `email,${'x'.repeat(70_000)}\n`, 'The header is larger than 64 KiB'],
  ['60,001 columns', `email${','.repeat(60_000)}\na\n`, 'The header has 60001 columns, but a file may have 2000'],
])('rejects a header with %s', async (_name, content, message) => {
  await expect(readHeader(Buffer.from(content as string), fields)).rejects.toThrow(message)
})

test('NDJSON begins after the byte order mark and must not be empty', () => {
  expect(findNdjsonStart(Buffer.from('\ufeff{"email":1}'))).toEqual({ position: 3, line: 1 })
  expect(() => findNdjsonStart(Buffer.from(' \n\r\n'))).toThrow('The file is empty')
})

/** How often a name or a text is normalized meanwhile. */
function countNormalized(work: () => unknown): number {
  const normalize = vi.spyOn(String.prototype, 'normalize')
  try {
    work()
    return normalize.mock.calls.length
  } finally {
    normalize.mockRestore()
  }
}

test('a row costs no more than its cells, however many columns are left out', () => {
  const ignored = Array.from({ length: 2_000 }, (_, position) => ({ position, name: `c${position}` }))
  const check = createIgnoredCheck({ delimiter: ',', columns: ignored.map(() => null), ignored })
  expect(countNormalized(() => check?.({ line: 2, content: ['a', 'b'] }))).toBe(2)
  expect(() => check?.({ line: 3, content: ['a', 'unsubscribed'] })).toThrow('"c1" says who wants emails')
  expect(() => check?.({ line: 3, content: ['="blocklisted"'] })).toThrow('"c0" says who wants emails')
})

test('the API names what columns of suppressions can be mapped to', () => {
  const { description = '' } = SuppressionImportOptions.shape.columns
  const targets = [...description.matchAll(/`(\w+)`/g)].map(([, target = '']) => target)
  const map = (target: string) => () =>
    createSuppressionColumnMatcher({ columns: { Header: target === 'null' ? null : target } })
  for (const target of targets) expect(map(target)).not.toThrow()
  expect(map('other')).toThrow(`must be ${targets.slice(0, -1).join(', ')} or ${targets.at(-1)}`)
})

test('matching columns of suppressions takes linear work, also of unknown ones', () => {
  const names = (count: number) => ['email', ...Array.from({ length: count }, (_, index) => `column ${index}`)]
  const matcher = createSuppressionColumnMatcher({ unknownColumns: 'ignore' })
  const [few, many] = [100, 1_000].map((count) => countNormalized(() => matcher.match(names(count)))) as [
    number,
    number,
  ]
  expect(many).toBeLessThan(few * 11)
})

test('the definitions of custom fields are normalized once, not for each name', () => {
  const many = new Map([...Array(500).keys()].map((n) => [`key${n}`, { label: `L ${n}`, type: 'TEXT', options: [] }]))
  const first = countNormalized(() => findCustomField('Key_7', many as CustomFields))
  expect(first).toBeLessThan(2_000)
  expect(countNormalized(() => findCustomField('Key_8', many as CustomFields))).toBe(1)
})
