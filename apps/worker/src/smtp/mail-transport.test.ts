import { expect, test } from 'vitest'
import { classifyError } from './mail-transport.ts'

const error = (message: string, more: object) => Object.assign(new Error(message), more)

test.each([
  [450, true],
  [421, true],
  [452, true],
  [500, false],
  [550, false],
  [554, false],
])('classifies the SMTP code %d as refused (temporary: %s)', (responseCode, temporary) => {
  const response = `${responseCode} 5.1.1 reason`
  const refused = error(`Can't send mail: ${response}`, { code: 'EENVELOPE', responseCode, response })
  const outcome = { kind: 'refused', temporary, error: response, isResponse: true }
  for (const command of ['RCPT TO', 'DATA']) {
    const bounce = { class: temporary ? 'SOFT' : 'HARD', code: '5.1.1' }
    const scope = responseCode === 421 ? { affectsAll: true } : { bounce }
    expect(classifyError(Object.assign(refused, { command }), false)).toEqual({ ...outcome, ...scope })
    expect(classifyError(Object.assign(refused, { command }), true)).toEqual({ ...outcome, ...scope })
  }
  for (const command of ['CONN', 'EHLO', 'AUTH PLAIN', 'MAIL FROM']) {
    expect(classifyError(Object.assign(refused, { command }), false)).toEqual({ ...outcome, affectsAll: true })
  }
})

test('classifies a message without recipients as permanently refused', () => {
  const message = 'No recipients defined'
  expect(classifyError(error(message, { code: 'EENVELOPE' }), false)).toEqual({
    kind: 'refused',
    temporary: false,
    error: message,
  })
})

test.each([
  ['connect ECONNREFUSED 127.0.0.1:25', { code: 'ESOCKET', syscall: 'connect' }],
  ['getaddrinfo ENOTFOUND mail.example', { code: 'EDNS', syscall: 'getaddrinfo' }],
  ['Connection closed unexpectedly', { code: 'ECONNECTION', command: 'CONN' }],
  ['Timeout', { code: 'ETIMEDOUT', command: 'CONN' }],
  ['read ECONNRESET', { code: 'ESOCKET', syscall: 'read' }],
  ['Connection pool was closed', {}],
])('classifies "%s" as ambiguous after the message started, as temporary before', (message, more) => {
  expect(classifyError(error(message, more), true)).toEqual({ kind: 'ambiguous', error: message })
  const unsent = { kind: 'refused', temporary: true, error: message, affectsAll: true }
  expect(classifyError(error(message, more), false)).toEqual(unsent)
})

test('removes from a response what PostgreSQL cannot store', () => {
  const response = `550 5.1.1 a\0b\ud800 ${'x'.repeat(3_000)}`
  const outcome = classifyError(error('refused', { responseCode: 550, command: 'RCPT TO', response }), false)
  expect(outcome).toMatchObject({ error: `550 5.1.1 a b\ufffd ${'x'.repeat(1_985)}`, bounce: { class: 'HARD' } })
})

test('classifies a thrown string', () => {
  expect(classifyError('boom', true)).toEqual({ kind: 'ambiguous', error: 'boom' })
})
