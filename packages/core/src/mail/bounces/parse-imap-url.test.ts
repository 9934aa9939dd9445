import { expect, test } from 'vitest'
import { parseImapUrl } from './parse-imap-url.ts'

test('a URL names the server, the login and the mailbox', () => {
  expect(parseImapUrl('imaps://a%40b:p%3Aw@mail.example/Bounces%20in', 1_000)).toMatchObject({
    mailbox: 'Bounces in',
    options: { host: 'mail.example', port: 993, secure: true, auth: { user: 'a@b', pass: 'p:w' } },
  })
  expect(parseImapUrl('imap://a:b@[::1]:1143', 1_000)).toMatchObject({
    mailbox: 'INBOX',
    options: { host: '::1', port: 1143, secure: false },
  })
})
