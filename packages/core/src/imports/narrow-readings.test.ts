/** What could be an opt-out never reads as consent, and what is not one invents none. */
import { readContactFile, readSuppressionFile } from '@rapport/testing/files/import-files.ts'
import { expect, test } from 'vitest'
import { parseMoment } from './rows/file-moment.ts'

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

test('a cell of a mebibyte is read at once', async () => {
  const hostile = [`[${','.repeat(1_000_000)};]`, `['a',${' '.repeat(1_000_000)}x;]`, 'user '.repeat(200_000)]
  for (const cell of hostile) {
    await readContactFile(`email,tags\na@example.com,"${cell}"\n`)
    await readSuppressionFile(`email,reason\na@example.com,"${cell}"\n`)
  }
  expect(hostile).toHaveLength(3)
})
