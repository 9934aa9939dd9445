/** Kinds of reports from public bug reports, by their numbers, each in other spellings than the report. */
import { expect, test } from 'vitest'
import { composeReport, lines } from '../../../test/delivery-reports/compose-report.ts'
import { selectReport } from './delivery-status.ts'
import { readMail } from './parse-report.ts'

const isAda = (email: string) => email === 'ada@example.com'
async function read(raw: string) {
  const content = await readMail(Buffer.from(raw))
  const report = content?.bounce && selectReport(content.bounce, isAda)
  return report && 'bounce' in report ? { ...report.bounce, isNamed: report.emails.some(isAda) } : undefined
}
const hard = { class: 'HARD', code: '5.1.1', isNamed: true }
const recipient = 'Final-Recipient: rfc822; ada@example.com'
const unknown = 'Diagnostic-Code: smtp; 550 5.1.1 unknown'
const report = (...fields: string[]) => composeReport({ status: ['Reporting-MTA: dns; mx.example', lines(...fields)] })

test.each([
  'undeliverable',
  '"failed"',
  'permanent-failure',
  'Fehlgeschlagen',
  'error',
  'failed; no retry',
  'non-delivery',
])('21: the action %s is a failure', async (action) => {
  expect(await read(report(recipient, `Action: ${action}`, 'Status: 5.1.1'))).toEqual(hard)
  expect(await read(report(recipient, `Action: ${action}`, unknown))).toEqual(hard)
})

test.each([
  ['no action and no status', [recipient, unknown]],
  ['an empty action', [recipient, 'Action:', 'Status: 5.1.1']],
  ['a status of SMTP', [recipient, 'Status: 550', unknown]],
  ['a status after a code of SMTP', [recipient, 'Status: 550 5.1.1']],
  ['a status with a sign', [recipient, 'Status: #5.1.1']],
  ['a status with a full stop', [recipient, 'Status: 5.1.1.']],
])('22: a report with %s is read', async (_name, fields) => {
  expect(await read(report(...fields))).toEqual(hard)
})

test.each([
  ['only the recipient', [recipient]],
  ['a delay by its action', [recipient, 'Action: delayed', unknown]],
  ['a temporary code', [recipient, 'Diagnostic-Code: smtp; 451 4.7.1 greylisted']],
])('22: a report with %s is none', async (_name, fields) => {
  expect(await read(report(...fields))).toBeUndefined()
})

const whole = lines('Reporting-MTA: dns; mx.example', recipient, 'Action: failed', 'Status: 5.1.1', unknown)
test.each([
  ['lines of spaces', '\r\n \t\r\n'],
  ['two empty lines', '\r\n\r\n\r\n'],
  ['no line feeds', '\r'],
  ['carriage returns twice', '\r\r\n'],
  ['indented fields', '\r\n  '],
])('23: a report with %s between its fields is read', async (_name, separator) => {
  expect(await read(composeReport({ status: [whole.replaceAll('\r\n', separator)] }))).toEqual(hard)
})

test.each([
  'application/octet-stream; name="details.txt"',
  'message/delivery-notification',
  'text/plain; name=ATT1.txt',
])('a delivery status of the type %s is read', async (statusType) => {
  const status = ['Reporting-MTA: dns; mx.example', lines(recipient, 'Action: failed', 'Status: 5.1.1')]
  expect(await read(composeReport({ statusType, status }))).toEqual(hard)
})

test.each([
  'Ada <ada@example.com>',
  '"ada@example.com"',
  'rfc822; <ada@example.com>',
  'utf-8; ada@example.com',
  'rfc822; "ada"@example.com',
  'rfc822; <"ada"@example.com>',
  '"Lovelace, Ada" <"ada"@example.com>',
])('the recipient %s of a report is known', async (name) => {
  expect(await read(report(`Final-Recipient: ${name}`, 'Action: failed', 'Status: 5.1.1'))).toEqual(hard)
})
