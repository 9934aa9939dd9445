import { expect, test } from 'vitest'
import { wordRows } from './bounce-words.ts'
import { classOfWords, splitWords } from './class-of-words.ts'
import { classifyBounce } from './classify-bounce.ts'

test.each([
  ['HARD', ['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1', '5.7.13', '5.7.17', '5.7.18']],
  [
    'SOFT',
    ['4.0.0', '4.1.1', '4.2.2', '4.7.1', '5.2.2', '5.4.1', '5.0.0', '5.1.0', '5.1.4', '5.1.351', '5.3.0', '2.0.0'],
  ],
  ['MESSAGE', ['5.2.3', '5.3.4', '5.6.0', '5.6.11']],
  ['POLICY', ['5.1.7', '5.1.8', '5.7.0', '5.7.1', '5.7.26', '5.7.130', '5.7.606']],
])('%s: %j', (expected, codes) => {
  const classes = codes.map((enhancedCode) => classifyBounce({ enhancedCode }))
  expect(classes).toEqual(codes.map((code) => ({ class: expected, code })))
})

test.each([
  ['550-5.1.1 The email account that you tried to reach does not exist.', 'HARD', '5.1.1'],
  ['550 5.7.1 Service refused from 5.1.1.9', 'POLICY', '5.7.1'],
  ['Sorry, no mailbox here by that name. (#5.1.1)', 'HARD', '5.1.1'],
  ['550 No such user here', 'HARD', '550'],
  ['smtp; 452-4.2.2 The email account is over quota', 'SOFT', '4.2.2'],
  ['host mx.example [198.51.100.5.1.1] said: 451 try later', 'SOFT', '451'],
  ['Exim 4.97.1 could not connect to 5.1.1.7', 'SOFT', null],
  ['connection timed out', 'SOFT', null],
  ['', 'SOFT', null],
])('reads the code of a response: %s', (text, expected, code) => {
  expect(classifyBounce({ text })).toEqual({ class: expected, code })
})

test.each([
  'Sie haben nicht die nötigen Berechtigungen, um dieser Gruppe zu schreiben.',
  'No tienes los permisos necesarios para publicar en este grupo.',
  "Ce groupe n'existe pas, ou vous n'êtes pas autorisé à lui écrire.",
  'Do této skupiny nemáte oprávnění přispívat.',
  'Ви не маєте дозволу писати в цю групу.',
  'Μπορεί να μην έχετε δικαίωμα ανάρτησης.',
  'أنت غير مصرح لك بالكتابة إلى هذه المجموعة',
  'אין לך אישור לכתוב לקבוצה',
  'आपको इस समूह में लिखने की अनुमति नहीं है',
  '您沒有在此群組張貼的權限。',
  'このグループに投稿する権限がありません。',
])('a group that only members may write to refuses the sender: %s', (text) => {
  expect(classifyBounce({ text })).toEqual({ class: 'POLICY', code: null })
})

test('the code of the quoted response comes before the stated one', () => {
  expect(classifyBounce({ enhancedCode: '5.0.0', text: '550 5.1.1 unknown' })).toEqual({ class: 'HARD', code: '5.1.1' })
  expect(classifyBounce({ enhancedCode: '5.0.0', text: '550 unknown' })).toEqual({ class: 'SOFT', code: '5.0.0' })
  expect(classifyBounce({ enhancedCode: '5.1.1', text: '550 5.2.2 no' })).toEqual({ class: 'SOFT', code: '5.2.2' })
  expect(classifyBounce({ enhancedCode: '5.1.1', text: '450 4.2.0 no' })).toEqual({ class: 'SOFT', code: '4.2.0' })
  expect(classifyBounce({ enhancedCode: '5.1.1', text: '550 5.0.0 no' })).toEqual({ class: 'HARD', code: '5.1.1' })
  expect(classifyBounce({ smtpCode: 452, text: '452 5.1.1 odd' })).toEqual({ class: 'SOFT', code: '5.1.1' })
  expect(classifyBounce({ smtpCode: 554 })).toEqual({ class: 'SOFT', code: '554' })
})

test.each([
  ['550 5.1.1 Sender address rejected: user unknown', 'POLICY'],
  ['550 5.1.1 unknown (in reply to MAIL FROM command)', 'POLICY'],
  ['550 5.1.2 Invalid HELO name', 'POLICY'],
  ['503 5.1.1 Improper command pipelining', 'POLICY'],
  ['550 5.1.1 rejected: DMARC check failed', 'POLICY'],
  ['550 5.1.1 denied by policy', 'POLICY'],
  ['550 5.2.1 The user is receiving mail at a rate that prevents more', 'SOFT'],
  ['550 5.1.1 Package quota exceeded', 'SOFT'],
  ['550 5.1.1 message too large', 'MESSAGE'],
  ['552 5.2.2 mailbox full, spam folder too: blocked', 'POLICY'],
  ['550 5.7.1 quota of the sender', 'POLICY'],
  ['451 4.7.1 listed by Spamhaus', 'POLICY'],
])('words make a class milder: %s is %s', (text, expected) => {
  expect(classifyBounce({ text }).class).toBe(expected)
})

test.each([
  ['550 user unknown', 'HARD'],
  ['550 5.2.1 Mailbox disabled, not accepting messages', 'HARD'],
  [
    "550 5.1.2 DNS Error: DNS type 'mx' lookup of gmial.com responded with code NXDOMAIN. Domain name not found",
    'HARD',
  ],
  ['550 5.1.1 mx.example rejected your message to ada@example.com: user unknown', 'HARD'],
  ['550 5.1.1 user unknown (LDAP lookup: no entry)', 'HARD'],
  ['550 5.1.1 no such user, domain migrated', 'HARD'],
  ['550 5.4.1 Recipient address rejected: Access denied', 'HARD'],
  ['550 5.5.0 Requested action not taken: mailbox unavailable', 'HARD'],
  ['450 user unknown', 'SOFT'],
  ['550 5.4.4 host not found', 'SOFT'],
  ['550 5.7.1 user unknown', 'POLICY'],
  ['554 5.7.1 Recipient address rejected: Access denied', 'POLICY'],
  ['user unknown', 'SOFT'],
  ['550 user unknown (in reply to end of DATA command)', 'SOFT'],
  ['554 antispam.policy.example said: user unknown', 'HARD'],
  ['550 user unknown, see https://mx.example/policy?spam=1', 'HARD'],
])('only a refusal of the recipient without an exact code hardens: %s is %s', (text, expected) => {
  expect(classifyBounce({ text }).class).toBe(expected)
})

test('every row of words decides, and none of its words is decided by another row', () => {
  const wrong = wordRows.flatMap((row) =>
    splitWords(row).filter((word) => classOfWords(`550 - ${word.replaceAll('*', 'x')} -`, row.code) !== row.class),
  )
  expect(wrong).toEqual([])
  const words = wordRows.flatMap(splitWords)
  expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([])
})
