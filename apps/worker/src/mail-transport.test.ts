import { expect, test } from 'vitest'
import { judge } from './mail-transport.ts'

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
  expect(judge(refused)).toEqual({ kind: 'refused', temporary, error: words })
})

test.each([
  ['connect ECONNREFUSED 127.0.0.1:25', { code: 'ESOCKET', syscall: 'connect' }],
  ['getaddrinfo ENOTFOUND mail.example', { code: 'EDNS', syscall: 'getaddrinfo' }],
  ['DNS lookup failed', { code: 'EDNS' }],
])('"%s": there never was a connection, so it may be tried again', (message, more) => {
  expect(judge(error(message, more))).toEqual({ kind: 'refused', temporary: true, error: message })
})

test('a recipient that cannot be written to is refused for good', () => {
  const message = 'No recipients defined'
  expect(judge(error(message, { code: 'EENVELOPE' }))).toEqual({ kind: 'refused', temporary: false, error: message })
})

test.each([
  ['Unexpected socket close', { code: 'ECONNECTION', command: 'CONN' }],
  ['Timeout', { code: 'ETIMEDOUT', command: 'CONN' }],
  ['read ECONNRESET', { code: 'ESOCKET', syscall: 'read' }],
  ['write EPIPE', { code: 'ESOCKET', syscall: 'write' }],
  ['Connection pool was closed', {}],
  ['anything unknown', { code: 'EWHATEVER' }],
])('"%s" may have come after the server took the mail', (message, more) => {
  expect(judge(error(message, more))).toEqual({ kind: 'ambiguous', error: message })
})

test('what is not even an error is ambiguous too', () => {
  expect(judge('boom')).toEqual({ kind: 'ambiguous', error: 'boom' })
})
