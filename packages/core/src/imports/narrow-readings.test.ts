/** What could be an opt-out never reads as consent, and what is not one invents none. */
import { readContactFile, readSuppressionFile } from '@rapport/testing/files/import-files.ts'
import { expect, test } from 'vitest'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import { parseMoment } from './words/file-moment.ts'

async function readStatus(column: string, value: string): Promise<string> {
  const columns = { [column]: 'status' }
  const [row] = await readContactFile(`email,"${column}"\na@example.com,"${value}"\n`, { columns }).catch(() => [])
  if (row === undefined) return 'refused'
  return 'contact' in row ? (row.status?.statuses.join() ?? 'unsaid') : 'error'
}

test.each([
  ['Email Opt-out', '########'],
  ['Do not contact', '#VALUE!'],
  ['Subscribed', 'no since 3 May 2019'],
  ['Opt-in', 'declined on 3 May 2019'],
  ['Opt-in', 'left May 3, 2019'],
  ['Opt-in', '1970-01-01 00:00:00'],
  ['subscription_cancelled_at', '2020-01-02'],
  ['Newsletter Kündigung', '02.01.2020'],
  ['Consent end date', '2020-01-02'],
  ['consent_expires', '2020-01-02'],
  ['Newsletter Ende', '2020-01-02'],
  ['Email opt-out', 'Confirmed'],
  ['Email opt-out', 'Active'],
  ['email_disabled', 'Enabled'],
])('"%s" with "%s" confirms no one', async (column, value) => {
  expect(await readStatus(column, value)).not.toMatch(/CONFIRMED|unsaid/)
})

test.each([
  ['Subscribed', 'Not unsubscribed'],
  ['Status', 'Never opted out'],
  ['Status', 'No complaints'],
  ['Status', 'Not bounced'],
  ['Status', '0 bounces'],
  ['Status', 'Soft bounces'],
  ['Status', 'DeBounce: deliverable'],
  ['Status', 'No emails sent yet'],
  ['Status', 'keine E-Mails geöffnet'],
  ['Invalid email', 'valid'],
  ['Bounced', 'never'],
  ['Complained', 'keine'],
])('"%s" with "%s" suppresses no one', async (column, value) => {
  expect(await readStatus(column, value)).not.toMatch(/UNSUBSCRIBED|OPTED_OUT|BOUNCED|COMPLAINED/)
})

test.each([
  ['Email opt-out', 'Subscribed', 'CONFIRMED'],
  ['Email opt-out', '#N/A', 'CONFIRMED'],
  ['Opt-in', 'Tue, 18 Apr 2016', 'CONFIRMED'],
  ['Bounced', '550 5.1.1 user unknown', 'BOUNCED'],
  ['Status', 'do not contact him', 'UNSUBSCRIBED'],
  ['Status', 'bitte keine Newsletter mehr', 'UNSUBSCRIBED'],
  ['Status', 'Bounced 2020', 'BOUNCED'],
])('"%s" with "%s" is %s', async (column, value, status) => {
  expect(await readStatus(column, value)).toBe(status)
})

test('a date of leaving in a column that was too narrow is an opt-out', async () => {
  const [row] = await readContactFile('email,unsubscribedAt,status\na@example.com,########,subscribed\n')
  expect(row).toMatchObject({
    status: { statuses: ['CONFIRMED', 'UNSUBSCRIBED'] },
    warnings: [{ column: 'unsubscribedAt' }],
  })
})

test('only a weekday and an article may stand before a date', () => {
  for (const text of ['Dienstag, 18. April 2016', 'le 18 avril 2016', 'Mon, Apr 18 2016'])
    expect([text, parseMoment(text)?.toISOString().slice(0, 10)]).toEqual([text, '2016-04-18'])
  for (const text of ['until 31 December 2019', 'nein seit 3. Mai 2019']) expect(parseMoment(text)).toBeUndefined()
})

test('every address of a cell is suppressed, and a cell that is too long says so', async () => {
  const cells = [
    'Ada <a@example.com>; b@example.com',
    '""a@example.com"", b@example.com',
    '""b, c@example.com"" <a@example.com>,b@example.com',
  ]
  for (const cell of cells) {
    const rows = await readSuppressionFile(`email\n"${cell}"\n`)
    expect(rows).toMatchObject([{ emails: ['a@example.com', 'b@example.com'] }])
  }
  const many = Array.from({ length: 150 }, (_, at) => `person${at}@example.com`).join('; ')
  expect(JSON.stringify(await readSuppressionFile(`email\n"${many}"\n`))).toContain('at most 2000 characters')
})

test.each(['x', 'X', '\u2713', '\u2714', '\u2714\ufe0f', '\u2611', '\u2705', '[x]', '(X)', '\u{1f5f8}', 'checked'])(
  'a tick %s means yes, also against emails',
  async (tick) => {
    for (const [column, status] of [
      ['Newsletter', 'CONFIRMED'],
      ['Subscribed', 'CONFIRMED'],
      ['Email opt-out', 'OPTED_OUT'],
      ['Bounced', 'BOUNCED'],
    ] as const)
      expect([column, await readStatus(column, tick)]).toEqual([column, status])
  },
)

test.each(['\u2610', '[ ]', 'unchecked', ''])('a box that is empty, %j, confirms no one', async (box) => {
  expect(await readStatus('Newsletter', box)).toMatch(/^(NONE|UNSUBSCRIBED)$/)
})

test.each(['\u2717', '\u2718', '\u274c', '\u2612'])('a cross %s can mean both, so it is an error', async (cross) => {
  for (const column of ['Newsletter', 'Email opt-out']) expect(await readStatus(column, cross)).toBe('error')
})

test.each([
  ['email', 'customFieldValues.note', '########'],
  ['email', 'customFieldValues.note', '#VALUE!'],
  ['email', 'customFieldValues.note', '[object Object]'],
  ['email', 'tags', '########'],
  ['email', 'tags', '[object Object]'],
  ['email', 'firstName', '#REF!'],
  ['email', 'externalId', '########'],
  ['externalId', 'email', '########'],
])('beside %s, the column %s that shows %s costs the value with a warning', async (key, column, cell) => {
  const fields: CustomFields = new Map([['note', { label: 'Note', type: 'TEXT', options: [] }]])
  const [row] = await readContactFile(`${key},${column}\na@example.com,${cell}\n`, { fields })
  expect(row).toMatchObject({ contact: { [key]: 'a@example.com' }, warnings: [{ column }] })
  expect(JSON.stringify(row)).not.toContain(cell)
})

test('an opt-in address that is not shown is an error of its row', async () => {
  const file = 'email,optInAddress\na@example.com,########\n'
  expect(await readContactFile(file)).toMatchObject([{ column: 'optInAddress' }])
})

/** The addresses of each row and why it is suppressed, or what the upload answers. */
async function suppressed(file: string): Promise<string> {
  try {
    const rows = await readSuppressionFile(file)
    return rows.map((row) => ('emails' in row ? `${row.emails.join()} ${row.suppression.reason}` : row.message)).join()
  } catch (error) {
    return String(error)
  }
}
const among = expect.stringMatching(/: The first line has an address among other words/) as string
test.each([
  ['a@example.com', 'a@example.com MANUAL'],
  ['"""Lovelace, Ada"" <a@example.com>"', 'a@example.com MANUAL'],
  ['mailto:a@example.com', 'a@example.com MANUAL'],
  ['"a@example.com; b@example.com"', 'a@example.com,b@example.com MANUAL'],
  ['a@example.com b@example.com', 'a@example.com,b@example.com MANUAL'],
  ['Suppressions exported by a@example.com', among],
  ['Email: a@example.com', among],
  ['Email (such as a@example.com)', among],
  ['"email","added by a@example.com"', among],
  ['email,a@example.com', expect.stringMatching(/several columns but no header/) as string],
])('the first line %s is an address, or is refused', async (line, expected) => {
  expect(await suppressed(`${line}\n`)).toEqual(expected)
})

test('a file of suppressions may have texts as a spreadsheet keeps them', async () => {
  const rows = await readSuppressionFile('email,reason,saidAt\n="eve@example.com",="spam",="2020-01-02"\n')
  const suppression = { reason: 'COMPLAINED', saidAt: '2020-01-02T00:00:00.000Z' }
  expect(rows).toEqual([{ line: 2, emails: ['eve@example.com'], suppression, warnings: [] }])
})

test('a header with an address that the caller maps is a header', async () => {
  const columns = { 'Left (a@example.com)': 'email' }
  const rows = await readSuppressionFile('Left (a@example.com)\nb@example.com\n', { columns })
  expect(rows).toMatchObject([{ emails: ['b@example.com'] }])
})

const unknownSource = expect.stringMatching(/: Unknown columns: "source"/) as string
test.each([
  ['recipient,type,source,non_transactional', 'a@example.com,x,Spam Complaint,true', 'a@example.com COMPLAINED'],
  ['email,reason,source', 'a@example.com,bounced,unsubscribe form', unknownSource],
  ['email,source', 'a@example.com,Abuse desk', unknownSource],
  ['subscribed,email,userGroup,source', 'false,a@example.com,x,Spam Complaint', 'a@example.com OPTED_OUT'],
])('the source in a file with %s says why only if its export says so', async (header, row, expected) => {
  expect(await suppressed(`${header}\n${row}\n`)).toEqual(expected)
})

test('a cell of a mebibyte is read at once', async () => {
  const hostile = [`[${','.repeat(1_000_000)};]`, `['a',${' '.repeat(1_000_000)}x;]`, 'user '.repeat(200_000)]
  for (const cell of hostile) {
    await readContactFile(`email,tags\na@example.com,"${cell}"\n`)
    await readSuppressionFile(`email,reason\na@example.com,"${cell}"\n`)
  }
  expect(hostile).toHaveLength(3)
})
