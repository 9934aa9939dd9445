/** Who wants to have others suppressed talks to the listener: nothing changes, except for the owner of a valid return path. */
import { connect } from 'node:net'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { openSmtpConversation } from '@rapport/testing/network/smtp-conversation.ts'
import { expect, test } from 'vitest'
import { noBounces } from '../../test/delivery-reports/no-bounces.ts'
import { otherServers } from '../../test/delivery-reports/other-servers.ts'
import { postfixAndExchange } from '../../test/delivery-reports/postfix-and-exchange.ts'
import { listenerOptions, reportOf, useListener } from '../../test/delivery-reports/use-listener.ts'
import { openBounceListener } from './bounce-listener.ts'
import { readMail } from './parsing/parse-report.ts'

const { database, deliverTo, listener, readSent, emailOf, pathOf, deliver, deliverAll, readSuppressed, listBounces } =
  useListener(12)

const base = () => ({ db: database.db, settings: readSent().ctx.settings })

/** The indexes of the suppressed recipients. */
async function listSuppressed(): Promise<number[]> {
  const reasons = await readSuppressed()
  return reasons.flatMap((reason, index) => (reason === undefined ? [] : [index]))
}

test('return paths that are guessed, changed or of another key are refused at RCPT', async () => {
  const valid = pathOf(0)
  const [local = '', host = ''] = valid.split('@')
  const other = await createTestCtx(database.db)
  const foreign = {
    ...other,
    settings: { ...other.settings, keys: { ...other.settings.keys, returnPaths: other.settings.keys.links } },
  }
  const wrong = [
    `${local.slice(0, -1)}${local.endsWith('0') ? '1' : '0'}@${host}`,
    `b+${'0'.repeat(62)}@${host}`,
    `b+@${host}`,
    `postmaster@${host}`,
    pathOf(0, foreign),
  ]
  const responses = await deliver('', ...wrong)
  expect(responses.map((line) => line.slice(0, 9))).toEqual([
    ...wrong.map(() => '550 5.1.1'),
    expect.stringMatching(/^503/),
  ])
  expect(await listBounces()).toEqual([])
})

test('many guesses end the connection, also in several transactions', async () => {
  const smtp = await openSmtpConversation(listener.port)
  const responses: string[] = []
  for (let at = 0; at < 12; at++) {
    for (const command of ['EHLO mx.example', 'MAIL FROM:<>']) await smtp.send(command)
    responses.push(await smtp.send(`RCPT TO:<b+c${at}@bounces.example>`))
  }
  smtp.close()
  // After the 421 the connection is closed.
  expect(responses.map((line) => line.slice(0, 3))).toEqual([...Array<string>(10).fill('550'), '421', ''])
})

test('a report suppresses only the recipient of its return path, in its workspace', async () => {
  const other = await createTestCtx(database.db)
  await deliver(reportOf(emailOf(0)), pathOf(0, other))
  expect(await listSuppressed()).toEqual([])
  await deliver(reportOf(emailOf(2)), pathOf(0))
  expect(await listSuppressed()).toEqual([])
  await deliver(reportOf(emailOf(0)), pathOf(0))
  expect(await listSuppressed()).toEqual([0])
})

test('a message above 512 KiB and a bomb of headers change nothing', async () => {
  const report = reportOf(emailOf(0))
  const large = await deliver(`${report}${`${'x'.repeat(998)}\r\n`.repeat(1_050)}`, pathOf(0))
  expect(large.at(-1)).toMatch(/^552/)
  const headers = Array.from({ length: 8_000 }, (_, at) => `X-${at}: ${'y'.repeat(40)}`).join('\r\n')
  expect((await deliver(`${headers}\r\n${report}`, pathOf(0))).at(-1)).toMatch(/^250/)
  expect(await listBounces()).toEqual([])
})

test('a client that pipelines many recipients gets a response to each', async () => {
  const commands = Array.from({ length: 30 }, () => `RCPT TO:<${pathOf(1)}>\r\n`)
  const smtp = await openSmtpConversation(listener.port)
  await smtp.send('EHLO mx.example')
  await smtp.send('MAIL FROM:<>')
  const responses = await smtp.sendPipelined(commands.join(''), commands.length)
  // A repeated recipient counts once.
  expect(responses.every((line) => line.startsWith('250'))).toBe(true)
  smtp.close()
})

test('it neither relays nor authenticates', async () => {
  const smtp = await openSmtpConversation(listener.port)
  const greeting = await smtp.send('EHLO mx.example')
  expect(greeting).not.toMatch(/AUTH|STARTTLS/)
  expect(await smtp.send('AUTH PLAIN AHRlc3QAdGVzdA==')).toMatch(/^5/)
  expect(await smtp.send('VRFY ada')).toMatch(/^252|^5/)
  await smtp.send('MAIL FROM:<eve@example.com>')
  expect(await smtp.send('RCPT TO:<victim@example.org>')).toMatch(/^550/)
  smtp.close()
})

test('a message to ten recipients is parsed once', async () => {
  let parsed = 0
  const read = (raw: Uint8Array) => readMail(raw).finally(() => (parsed += 1))
  const counting = await openBounceListener(base(), { ...listenerOptions, parser: { read } })
  await deliverTo(counting.port, reportOf('unknown'), ...Array.from({ length: 10 }, (_, index) => pathOf(index)))
  expect([parsed, await listSuppressed()]).toEqual([1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
  await counting.close()
})

test('a message that exceeds a limit is accepted and ignored', async () => {
  const refusing = await openBounceListener(base(), { ...listenerOptions, parser: { read: async () => undefined } })
  const responses = await deliverTo(refusing.port, reportOf(emailOf(0)), pathOf(0), 'fbl@bounces.example')
  expect([responses.at(-1)?.slice(0, 3), await listBounces()]).toEqual(['250', []])
  await refusing.close()
})

test('idle connections of one network leave room for others', async () => {
  const crowded = await openBounceListener(base(), listenerOptions)
  const open = () => openSmtpConversation(crowded.port)
  const conversations = await Promise.all(Array.from({ length: 25 }, open))
  const greetings = conversations.map(({ greeting }) => greeting.slice(0, 3))
  expect(greetings.filter((code) => code === '220')).toHaveLength(20)
  expect(greetings.filter((code) => code === '421')).toHaveLength(5)
  for (const conversation of conversations) conversation.close()
  await expect.poll(async () => (await open()).greeting.slice(0, 3)).toBe('220')
  await crowded.close()
})

test.each([
  ['command', { commandMs: 50 }, []],
  ['message', { messageMs: 50 }, ['EHLO mx.example', 'MAIL FROM:<>', 'RCPT TO:<fbl@bounces.example>', 'DATA']],
])('a %s that arrives byte by byte has a deadline', async (_name, limits, commands) => {
  const strict = await openBounceListener(base(), { ...listenerOptions, ...limits })
  const socket = connect(strict.port, '127.0.0.1').on('error', () => {})
  socket.resume()
  for (const command of commands) socket.write(`${command}\r\n`)
  const drip = setInterval(() => socket.write('x'), 5)
  // The library ends such a connection, too, but after half a minute.
  await expect.poll(() => socket.closed, { timeout: 10_000 }).toBe(true)
  clearInterval(drip)
  await strict.close()
})

test('a message has at most ten recipients', async () => {
  const paths = Array.from({ length: 12 }, (_, index) => pathOf(index))
  const responses = await deliver(reportOf('unknown'), ...paths)
  expect(responses.map((line) => line.slice(0, 3))).toEqual([
    ...Array<string>(10).fill('250'),
    '452',
    '452',
    '354',
    '250',
  ])
  expect(await listSuppressed()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test.each([
  ['a lone LF', '\n.\n'],
  ['a lone CR', '\r.\r'],
  ['LF before CRLF', '\n.\r\n'],
  ['CRLF before LF', '\r\n.\n'],
  ['CRLF before CR', '\r\n.\r'],
])('a dot after %s does not end a message, so that no command hides in it', async (_name, end) => {
  const hidden = `MAIL FROM:<>\r\nRCPT TO:<${pathOf(1)}>\r\nDATA\r\n${reportOf(emailOf(1))}`
  const responses = await deliver(`${reportOf(emailOf(0))}${end}${hidden}`, pathOf(0))
  expect(responses.map((line) => line.slice(0, 3))).toEqual(['250', '354', '250'])
  expect(await listSuppressed()).toEqual([0])
})

test('commands that a bounce does not need are refused, and a line without end closes', async () => {
  const refused = ['STARTTLS', 'BDAT 5 LAST', 'XCLIENT ADDR=192.0.2.1', 'ETRN example.com', 'EXPN staff']
  const smtp = await openSmtpConversation(listener.port)
  await smtp.send('EHLO mx.example')
  for (const command of refused) expect(await smtp.send(command)).toMatch(/^5/)
  expect(await smtp.send('MAIL FROM:<> SIZE=99999999')).toMatch(/^552/)
  expect(await smtp.send('x'.repeat(100_000))).toMatch(/^(5|421|$)/)
  smtp.close()
})

test('a TLS handshake and other bytes end only their own connection', async () => {
  const hello = Buffer.from('160301020001000001fc0303', 'hex')
  for (const bytes of [hello, Buffer.alloc(70_000, 0xff), Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(20))]) {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.resume().end(bytes)
    await closed
  }
  expect((await deliver(reportOf(emailOf(3)), pathOf(3))).at(-1)).toMatch(/^250/)
  expect(await listSuppressed()).toEqual([3])
})

test('a message that breaks off, or whose sender starts anew, changes nothing', async () => {
  const smtp = await openSmtpConversation(listener.port)
  for (const command of ['EHLO mx.example', 'MAIL FROM:<>', `RCPT TO:<${pathOf(0)}>`]) await smtp.send(command)
  await smtp.send('RSET')
  expect(await smtp.send('DATA')).toMatch(/^503/)
  for (const command of ['MAIL FROM:<>', `RCPT TO:<${pathOf(0)}>`, 'DATA']) await smtp.send(command)
  smtp.write(reportOf(emailOf(0)))
  smtp.close()
  // The listener has read the end of that connection when it has answered a later one.
  expect((await deliver(reportOf(emailOf(1)), pathOf(1))).at(-1)).toMatch(/^250/)
  expect(await listSuppressed()).toEqual([1])
})

test('no mail to a return path is answered with an email', async () => {
  const shapes = [...postfixAndExchange, ...otherServers, ...noBounces]
  const askers = ['Reply-To: eve@example.com', 'Disposition-Notification-To: eve@example.com']
  const responses = await deliverAll(
    shapes.map(([, raw]) => `${askers.join('\r\n')}\r\n${raw}`),
    pathOf(0),
  )
  expect(responses.filter((response) => !response.startsWith('250'))).toEqual([])
  const query = 'select from mails where workspace_id = $1'
  expect((await database.pool.query(query, [uuidOf(readSent().ctx.workspaceId)])).rowCount).toBe(0)
})
