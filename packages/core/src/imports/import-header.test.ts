import { expect, test } from 'vitest'
import type { CustomFields } from '../contacts/custom-fields/custom-fields.ts'
import { matchColumns, readHeader, findNdjsonStart } from './import-header.ts'

const fields: CustomFields = new Map([
  ['plan', { label: 'Tariff', type: 'TEXT', options: [] }],
  ['shoeSize', { label: 'Shoe size', type: 'NUMBER', options: [] }],
  ['mail', { label: 'Letters', type: 'TEXT', options: [] }],
  ['one', { label: 'Same', type: 'TEXT', options: [] }],
  ['two', { label: 'same', type: 'TEXT', options: [] }],
])

test.each([
  ['email', ['Email', 'E-Mail', 'EMAIL', 'e_mail', ' email ', 'Email address', 'email_address', 'Ｅmail']],
  ['firstName', ['firstName', 'First Name', 'first_name', 'FIRSTNAME', 'first-name', 'Given Name', 'Forename']],
  ['lastName', ['lastName', 'Last Name', 'last_name', 'Surname', 'family name']],
  ['phone', ['Phone', 'phone_number', 'Telephone']],
  ['company', ['Company', 'Company Name', 'Organization', 'organisation']],
  ['tags', ['tags', 'Tags', 'TAG']],
  ['source', ['source', 'Source']],
  ['customFieldValues.plan', ['plan', 'Plan', 'Tariff', 'customField.plan', 'customFieldValues.plan']],
  ['customFieldValues.plan', ['custom_field.Plan', 'Custom Fields.tariff', 'custom-field-values.plan']],
  ['customFieldValues.shoeSize', ['shoeSize', 'shoe_size', 'Shoe Size', 'SHOESIZE', 'customField.shoe_size']],
  // What a workspace calls so itself comes before what it might mean elsewhere.
  ['customFieldValues.mail', ['mail', 'Letters']],
  [null, ['id', 'createdAt', 'Updated At', 'last_activity_at', 'emailSubscribedStatus']],
  ['', ['', '  ']],
])('%s is what a column is called %j', (column, names) => {
  for (const name of names) {
    const columns = matchColumns(column === 'email' ? [name] : ['email', name], fields)
    expect([name, columns.at(-1)]).toEqual([name, column])
  }
})

test('unknown columns are named, with those that are known', () => {
  const names = ['email', 'Name', 'customField.nothing', 'Fav\u0007orite']
  expect(() => matchColumns(names, fields)).toThrow(
    'Unknown columns: "Name", "customField.nothing", "Fav orite". Known are email, firstName, lastName, phone, company, ' +
      'tags, source, customField.plan, customField.shoeSize, customField.mail, customField.one, customField.two; ' +
      'id, createdAt, updatedAt, lastActivityAt, emailSubscribedStatus are ignored',
  )
})

test('of a thousand unknown columns ten are named, and the rest counted', () => {
  const names = ['email', ...Array.from({ length: 1_000 }, (_, index) => `column ${index}`)]
  expect(() => matchColumns(names, fields)).toThrow(/"column 9" and 990 more\./)
})

test('a label that two fields have is no name for either', () => {
  expect(() => matchColumns(['email', 'Same'], fields)).toThrow('Unknown columns: "Same"')
})

test('a file without addresses, or with two columns of them, is refused', () => {
  expect(() => matchColumns(['First name'], fields)).toThrow('The file has no column email. Known are email')
  expect(() => matchColumns(['Email', 'e-mail'], fields)).toThrow('Two columns of the file are email')
  expect(() => matchColumns(['email', 'plan', 'Tariff'], fields)).toThrow('Two columns of the file are customField')
})

test.each([
  ['commas', 'email,company\n', ','],
  ['semicolons', 'email;"a,b,c";company\n'.replace('"a,b,c"', 'tags'), ';'],
  ['tabs', 'email\tcompany\r\n', '\t'],
  ['one column', 'email\n', ','],
  ['separators of the other kind in a quoted name', '"email";"phone";"company"\n', ';'],
  ['no line break at all', 'email;phone', ';'],
  ['very old line breaks', 'email;phone\rada@example.com;1\r', ';'],
])('%s: what separates the cells is found out', async (_name, text, delimiter) => {
  const { layout } = await readHeader(Buffer.from(text), fields)
  expect(layout.delimiter).toBe(delimiter)
})

test.each([
  ['LF', 'email\nada@example.com\n', { position: 6, line: 2 }],
  ['CRLF', 'email\r\nada@example.com\r\n', { position: 7, line: 2 }],
  ['a byte order mark', '\ufeffemail\nada@example.com\n', { position: 9, line: 2 }],
  ['empty lines before', '\n\r\nemail\nada@example.com', { position: 9, line: 4 }],
  ['a line break in a name', '"e\r\nmail",company\nada@example.com,', { position: 18, line: 3 }],
  ['nothing after it', 'email', { position: 5, line: 1 }],
])('%s: the rows begin where the header ends', async (_name, text, start) => {
  expect((await readHeader(Buffer.from(text), fields)).start).toEqual(start)
})

test.each([
  ['nothing', '', 'The file is empty'],
  ['empty lines', '\n\r\n\n', 'The file is empty'],
  ['a byte order mark alone', '\ufeff', 'The file is empty'],
  ['UTF-16', Buffer.from('\ufeffemail\n', 'utf16le'), 'The file is in UTF-16: save it in UTF-8'],
  ['Latin-1', Buffer.from('email,Straße\n', 'latin1'), 'The header cannot be read: Is not valid UTF-8'],
  ['a quotation mark too many', 'email,"na"me\n', 'The header cannot be read: Has a quotation mark within a cell'],
  ['no end', `email,"${'x'.repeat(70_000)}`, /The header (cannot be read|is larger than 64 KiB)/],
  ['too much', `email,${'x'.repeat(70_000)}\n`, 'The header is larger than 64 KiB'],
])('a header of %s is refused with the reason', async (_name, content, message) => {
  await expect(readHeader(Buffer.from(content as string), fields)).rejects.toThrow(message)
})

test('NDJSON begins after the byte order mark, and may not be empty', () => {
  expect(findNdjsonStart(Buffer.from('\ufeff{"email":1}'))).toEqual({ position: 3, line: 1 })
  expect(() => findNdjsonStart(Buffer.from(' \n\r\n'))).toThrow('The file is empty')
})
