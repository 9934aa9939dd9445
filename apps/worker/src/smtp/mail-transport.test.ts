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
])('an answer of %d is a refusal, for now: %s', (responseCode, temporary) => {
  const words = `${responseCode} 5.1.1 these words`
  const refused = error(`Can't send mail: ${words}`, { code: 'EENVELOPE', responseCode, response: words })
  const outcome = { kind: 'refused', temporary, error: words }
  for (const command of ['RCPT TO', 'DATA']) {
    const scope = responseCode === 421 ? { affectsAll: true } : {}
    expect(classifyError(Object.assign(refused, { command }), false)).toEqual({ ...outcome, ...scope })
    expect(classifyError(Object.assign(refused, { command }), true)).toEqual({ ...outcome, ...scope })
  }
  for (const command of ['CONN', 'EHLO', 'AUTH PLAIN', 'MAIL FROM']) {
    expect(classifyError(Object.assign(refused, { command }), false)).toEqual({ ...outcome, affectsAll: true })
  }
})

test('a recipient that cannot be written to is refused for good', () => {
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
])('"%s" is ambiguous once the message was on its way, and may be tried again before', (message, more) => {
  expect(classifyError(error(message, more), true)).toEqual({ kind: 'ambiguous', error: message })
  const unsent = { kind: 'refused', temporary: true, error: message, affectsAll: true }
  expect(classifyError(error(message, more), false)).toEqual(unsent)
})

test('what is not even an error is told too', () => {
  expect(classifyError('boom', true)).toEqual({ kind: 'ambiguous', error: 'boom' })
})
