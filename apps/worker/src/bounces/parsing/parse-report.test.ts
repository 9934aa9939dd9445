import type { Db } from '@rapport/core/db/client.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { createRecipientToken } from '@rapport/core/mail/bounces/recipient-token.ts'
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { chooseSeed, countRuns, createRandom } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { composeComplaint, composeReport, lines } from '../../../test/delivery-reports/compose-report.ts'
import { documentedReports, documentedTexts } from '../../../test/delivery-reports/documented-reports.ts'
import { noBounces } from '../../../test/delivery-reports/no-bounces.ts'
import { otherServers } from '../../../test/delivery-reports/other-servers.ts'
import { postfixAndExchange } from '../../../test/delivery-reports/postfix-and-exchange.ts'
import { selectReport } from './delivery-status.ts'
import { readMail } from './parse-report.ts'
import type { MailContent } from './parsed-report.ts'
import { recordBounceMail } from '../record-bounce-mail.ts'

const bounceShapes = [...postfixAndExchange, ...otherServers, ...documentedReports, ...documentedTexts, ...noBounces]
const isAda = (email: string) => email.toLowerCase() === 'ada@example.com'
const select = ({ complaint, bounce }: MailContent) => complaint ?? (bounce && selectReport(bounce, isAda))
const nothing: MailContent = { tokens: [] }
const parse = async (raw: string) => select((await readMail(Buffer.from(raw))) ?? nothing)

test.each(bounceShapes)('%s is classified as a mail administrator would', async (_name, raw, expected) => {
  const report = await parse(raw)
  expect(report && 'bounce' in report ? report.bounce : undefined).toEqual(expected)
})

const group = (email: string, action: string, status: string) =>
  `Final-Recipient: rfc822; ${email}\r\nAction: ${action}\r\nStatus: ${status}`
const reportOf = (...groups: string[]) =>
  parse(composeReport({ status: ['Reporting-MTA: dns; mx.example', ...groups] }))

test('of a report about several recipients, the group of the recipient counts', async () => {
  const other = group('eve@example.com', 'failed', '5.1.1')
  expect(await reportOf(other, group('ADA@example.com', 'failed', '4.2.2'))).toMatchObject({
    bounce: { class: 'SOFT' },
  })
  expect(await reportOf(other, group('ada@example.com', 'delivered', '2.0.0'))).toBeUndefined()
})

test('a mail that was forwarded bounced only if it reached no target', async () => {
  const [dead, full] = [group('a@other.example', 'failed', '5.1.1'), group('b@other.example', 'failed', '5.2.2')]
  expect(await reportOf(dead, group('b@other.example', 'delivered', '2.0.0'))).toBeUndefined()
  expect(await reportOf(dead, full)).toMatchObject({ bounce: { class: 'SOFT' } })
  expect(await reportOf(dead)).toMatchObject({ bounce: { class: 'HARD' }, emails: ['a@other.example'] })
})

test.each([
  ['failure', '5.1.1', 'HARD'],
  ['expired', '4.4.7', 'SOFT'],
  ['failed (unknown user)', '5.1.1', 'HARD'],
  ['rejected', '5.1.1', 'HARD'],
  ['delayed', '5.1.1', undefined],
  ['deferred', '4.4.1', undefined],
  ['expanded', '5.0.0', undefined],
  ['retrying', '4.4.1', undefined],
])('the action "%s" with %s is %s', async (action, status, expected) => {
  const report = await reportOf(group('ada@example.com', action, status))
  expect(report?.type === 'BOUNCE' ? report.bounce.class : undefined).toBe(expected)
})

test.each([
  ['without an action', 'Final-Recipient: rfc822; ada@example.com\r\nStatus: 5.1.1'],
  ['with an empty line after each field', group('ada@example.com', 'failed', '5.1.1').replaceAll('\r\n', '\r\n\r\n')],
  [
    'with the groups in one block',
    lines(group('eve@example.com', 'failed', '5.2.2'), group('ada@example.com', 'failed', '5.1.1')),
  ],
  ['with folded lines', 'Final-Recipient: rfc822;\r\n ada@example.com\r\nAction:\r\n failed\r\nStatus: 5.1.1'],
  ['in lower case', group('ada@example.com', 'failed', '5.1.1').toLowerCase()],
])('a report %s is read', async (_, status) => {
  expect(await reportOf(status)).toMatchObject({ bounce: { class: 'HARD', code: '5.1.1' } })
})

test('of several status parts, each is read', async () => {
  const part = (email: string, status: string) =>
    lines(
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example',
      '',
      group(email, 'failed', status),
    )
  const raw = composeReport({ status: ['Reporting-MTA: dns; mx.example', group('eve@example.com', 'failed', '5.2.2')] })
  const [head = '', rest = ''] = raw.split('--=_report\r\nContent-Type: message/rfc822')
  const report = await parse(
    `${head}--=_report\r\n${part('ada@example.com', '5.1.1')}\r\n--=_report\r\nContent-Type: message/rfc822${rest}`,
  )
  expect(report).toMatchObject({ bounce: { class: 'HARD' }, emails: ['ada@example.com'] })
})

test('a member of a list that Postfix expanded does not name the list', async () => {
  const status = lines('Original-Recipient: rfc822;ada@example.com', group('eve@example.org', 'failed', '5.1.1'))
  const text = '<eve@example.org> (expanded from <ada@example.com>): 550 5.1.1 unknown'
  expect(await parse(composeReport({ text, status: [status] }))).toMatchObject({ emails: ['eve@example.org'] })
})

test('reads the original recipient, also encoded as xtext', async () => {
  const encoded = 'Original-Recipient: rfc822;ada+2Bnews@example.com\r\nAction: failed\r\nStatus: 5.1.1'
  expect(await reportOf(encoded)).toMatchObject({ emails: expect.arrayContaining(['ada+news@example.com']) })
})

test('a complaint is one with and without an address', async () => {
  const complaint = await parse(composeComplaint('Original-Rcpt-To: <ada@example.com>'))
  expect(complaint).toMatchObject({ type: 'COMPLAINT', emails: ['ada@example.com'] })
  expect(await parse(composeComplaint('Original-Rcpt-To: redacted'))).toMatchObject({ type: 'COMPLAINT', emails: [] })
})

test.each(['not-spam', 'auth-failure', 'virus', 'Not-Spam'])('a feedback report "%s" is no complaint', async (type) => {
  expect(await parse(composeComplaint().replace('abuse', type))).toBeUndefined()
})

test.each(['fraud', 'other', 'opt-out', ''])('a feedback report "%s" is a complaint', async (type) => {
  expect(await parse(composeComplaint().replace('abuse', type))).toMatchObject({ type: 'COMPLAINT' })
})

test('mails that are large, deep, damaged or full of headers report nothing', async () => {
  const deep = Array.from(
    { length: 200 },
    (_, at) => `Content-Type: multipart/mixed; boundary="${at}"\r\n\r\n--${at}\r\n`,
  )
  const headers = Array.from({ length: 20_000 }, (_, at) => `X-Header-${at}: ${'x'.repeat(40)}`).join('\r\n')
  const wrong = ['', '\0', '\r\n\r\n', deep.join(''), `${headers}\r\n\r\n${bounceShapes[2]?.[1]}`, 'x'.repeat(600_000)]
  for (const raw of wrong) expect(await parse(raw)).toBeUndefined()
})

test('a report of 500 KiB that slows regular expressions down is read like others', async () => {
  const spaces = `Original-Recipient: rfc822; a${' '.repeat(500 * 1024)}b\r\n`
  const report = await reportOf(`${spaces}${group('ada@example.com', 'failed', '5.1.1')}`)
  expect(report).toMatchObject({ bounce: { class: 'HARD' }, emails: ['ada@example.com'] })
  for (const line of ['\u2028Hi. This is the ', '\u2028<']) {
    const text = `Hi. This is the qmail-send program\n${line.repeat((500 * 1024) / Buffer.byteLength(line))}`
    expect(await parse(composeReport({ text }))).toMatchObject({ bounce: { class: 'SOFT' } })
    expect(await parse(composeReport({ text: line.repeat(25_000) }))).toMatchObject({ bounce: { class: 'SOFT' } })
  }
})

function mutate(raw: Buffer, random: (below: number) => number): Buffer {
  let bytes = Buffer.from(raw)
  for (let change = random(6) + 1; change > 0; change--) {
    const [at, length] = [random(bytes.length || 1), random(60)]
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + length)]
    const inserted = [
      () => Buffer.alloc(0),
      () => Buffer.from([random(256)]),
      () => bytes.subarray(at, at + length * 3),
      () =>
        Buffer.from(['\r\n', '\n\n', ':', ';', '--=_report\r\n', '=?utf-8?B?', '\0', 'Status: 5.1.1'][random(8)] ?? ''),
    ][random(4)]
    bytes = Buffer.concat([before, inserted?.() ?? bytes, after])
  }
  return bytes
}

const withoutDatabase = {
  settings: testSettings,
  requestId: 'test',
  db: new Proxy({} as Db, {
    get() {
      throw new Error('A report without a token reached the database')
    },
  }),
}
const token = createRecipientToken(testSettings.keys, {
  workspaceId: newId('wsp'),
  subject: { campaignId: newId('cmp'), contactId: newId('con') },
  email: 'ada@example.com',
})

/** Another token of the same length, or one that is cut off. */
function forge(valid: string, random: (below: number) => number): string {
  const at = random(valid.length)
  const digit = random(32).toString(32)
  if (digit === valid[at]) return valid.slice(0, at)
  return `${valid.slice(0, at)}${digit}${valid.slice(at + 1)}`
}

const mutants = countRuns({ gate: 2_000, full: 100_000 })
const seed = chooseSeed(52)
test(`mutants of reports neither crash nor count without a token (seed ${seed})`, async () => {
  const random = createRandom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const classes = new Set<string>()
  for (let count = 0; count < mutants; count++) {
    const [, raw = ''] = bounceShapes[below(bounceShapes.length)] ?? []
    const mutant = mutate(Buffer.from(raw), below)
    const content = (await readMail(mutant)) ?? nothing
    const report = select(content)
    expect(await recordBounceMail(withoutDatabase, forge(token, below), content)).toBe(false)
    classes.add(report?.type === 'BOUNCE' ? report.bounce.class : 'none')
  }
  expect(classes).toEqual(new Set(['HARD', 'SOFT', 'MESSAGE', 'POLICY', 'none']))
})
