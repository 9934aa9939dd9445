import { expect, test } from 'vitest'
import { classifyBounce } from './classify-bounce.ts'

test.each([
  ['HARD', ['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1', '5.7.13', '5.7.17', '5.7.18']],
  [
    'SOFT',
    ['4.0.0', '4.1.1', '4.2.2', '4.7.1', '5.2.2', '5.4.1', '5.4.14', '5.0.0', '5.1.4', '5.3.0', '5.5.0', '2.0.0'],
  ],
  ['MESSAGE', ['5.2.3', '5.3.4', '5.6.0', '5.6.11']],
  ['POLICY', ['5.1.0', '5.1.7', '5.1.8', '5.1.351', '5.7.0', '5.7.1', '5.7.26', '5.7.130', '5.7.606']],
])('%s: %j', (expected, codes) => {
  const classes = codes.map((enhancedCode) => classifyBounce({ enhancedCode }))
  expect(classes).toEqual(codes.map((code) => ({ class: expected, code })))
})

test.each([
  ['550-5.1.1 The email account that you tried to reach does not exist.', 'HARD', '5.1.1'],
  ['550 5.7.1 Service refused from 5.1.1.9', 'POLICY', '5.7.1'],
  ['Sorry, no mailbox here by that name. (#5.1.1)', 'HARD', '5.1.1'],
  ['550 No such user here', 'SOFT', '550'],
  ['smtp; 452-4.2.2 The email account is over quota', 'SOFT', '4.2.2'],
  ['host mx.example [198.51.100.5.1.1] said: 451 try later', 'SOFT', '451'],
  ['Exim 4.97.1 could not connect to 5.1.1.7', 'SOFT', null],
  ['connection timed out', 'SOFT', null],
  ['', 'SOFT', null],
])('reads the code of a response: %s', (text, expected, code) => {
  expect(classifyBounce({ text })).toEqual({ class: expected, code })
})

test('a code without details gives way to the code of the quoted response', () => {
  expect(classifyBounce({ enhancedCode: '5.0.0', text: '550 5.1.1 unknown' })).toEqual({ class: 'HARD', code: '5.1.1' })
  expect(classifyBounce({ enhancedCode: '5.0.0', text: '550 unknown' })).toEqual({ class: 'SOFT', code: '5.0.0' })
  expect(classifyBounce({ enhancedCode: '5.2.2', text: '550 5.1.1 no' })).toEqual({ class: 'SOFT', code: '5.2.2' })
  expect(classifyBounce({ smtpCode: 452, text: '452 5.1.1 odd' })).toEqual({ class: 'SOFT', code: '5.1.1' })
  expect(classifyBounce({ smtpCode: 554 })).toEqual({ class: 'SOFT', code: '554' })
})
