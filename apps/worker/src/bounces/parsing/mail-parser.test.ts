import { afterAll, expect, test } from 'vitest'
import { composeReport } from '../../../test/delivery-reports/compose-report.ts'
import { createMailParser } from './mail-parser.ts'

const ignored: string[] = []
const onIgnored = (reason: string) => void ignored.push(reason)
const parser = createMailParser({ onIgnored })
const impatient = createMailParser({ onIgnored, deadlineMs: 10 })
afterAll(() => Promise.all([parser.close(), impatient.close()]))

const fill = (line: string) => line.repeat(Math.floor((504 * 1024) / line.length))
const header = 'From: MAILER-DAEMON@mx.example\r\nContent-Type: multipart/mixed; boundary=b\r\n'
const longMail = Buffer.from(`From: MAILER-DAEMON@mx.example\r\n\r\n${`${'x'.repeat(24)}\r\n`.repeat(19_000)}`)

test.each([
  ['parts', `${header}\r\n${fill('--b\r\n\r\n')}`],
  ['lines', `${header}\r\n${fill('\r\n')}`],
  ['header lines', `${fill('X: y\r\n')}${header}\r\n`],
])('a mail with tens of thousands of %s is ignored unread', async (_name, raw) => {
  ignored.length = 0
  expect(await parser.read(Buffer.from(raw))).toBeUndefined()
  expect(ignored).toEqual(['structure'])
})

const toPart = (_: unknown, at: number) => `Content-Type: multipart/mixed; boundary=${at}\r\n\r\n--${at}\r\n`
test.each([
  ['parts in parts in parts', Array.from({ length: 22 }, toPart).join('')],
  ['a header of 130 KiB', `X: ${'y'.repeat(130 * 1024)}\r\n${header}\r\n`],
])('a mail with %s is ignored and counted', async (_name, raw) => {
  ignored.length = 0
  expect(await parser.read(Buffer.from(raw))).toBeUndefined()
  expect(ignored).toEqual(['structure'])
})

test('of a bounce that names thousands of addresses, fifty are read', async () => {
  const failed = `X-Failed-Recipients: ${'ada@example.com,'.repeat(8_000)}`
  const content = await parser.read(Buffer.from(`${failed}\r\n\r\n550 5.1.1 unknown`))
  expect(content?.bounce?.groups.map(({ emails }) => emails.length)).toEqual([50])
})

test('a mail that takes long to read is ignored, and so is the next one', async () => {
  ignored.length = 0
  expect(await Promise.all([impatient.read(longMail), impatient.read(longMail)])).toEqual([undefined, undefined])
  expect(ignored).toEqual(['effort', 'effort'])
})

test('the process does other work while a mail is parsed', async () => {
  await parser.read(Buffer.from('From: ada@example.com\r\n\r\n'))
  let turns = 0
  const count = () => {
    turns += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  await parser.read(longMail)
  clearImmediate(counting)
  expect(turns).toBeGreaterThan(20)
})

test('a report is read as without a thread', async () => {
  const group = 'Final-Recipient: rfc822; ada@example.com\r\nAction: failed\r\nStatus: 5.1.1'
  const content = await parser.read(Buffer.from(composeReport({ status: ['Reporting-MTA: dns; mx.example', group] })))
  expect(content?.bounce?.groups).toMatchObject([{ emails: ['ada@example.com'], bounce: { class: 'HARD' } }])
})
