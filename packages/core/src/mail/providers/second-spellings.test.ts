/** Kinds of hooks from public bug reports, by their numbers, each in other spellings than the report. */
import {
  providerSecrets,
  readTestCertificate,
  signMessage,
  reportsOf,
} from '@rapport/testing/mail-providers/provider-messages.ts'
import { expect, test } from 'vitest'
import { classifyBounce } from '../bounces/classify-bounce.ts'
import { type MailProvider, readProviderMessage } from './read-message.ts'

async function read(provider: MailProvider, content: unknown) {
  const context = { secret: providerSecrets[provider], now: new Date(), readUrl: readTestCertificate }
  const message = await readProviderMessage[provider](signMessage[provider](content), context)
  return reportsOf(message).map(({ type, class: is, email }) => [is ?? type, email])
}
const ada = 'ada@example.com'
const ofAda = (kind: string) => [[kind, ada]]

const resendBounce = (diagnosticCode: unknown) => ({
  type: 'email.bounced',
  data: { to: [ada], bounce: { type: 'Transient', subType: 'General', message: 'x', diagnosticCode } },
})
const sesBounce = (recipient: object | null, type = 'Permanent', subType = 'General') => ({
  notificationType: 'Bounce',
  mail: { messageId: 'id', destination: [`"Love, Ada" <${ada}>`] },
  bounce: { bounceType: type, bounceSubType: subType, bouncedRecipients: recipient && [recipient] },
})

test.each([
  [[]],
  [['']],
  [['smtp; Automatic reply: out of the office']],
  ['Abwesenheitsnotiz: bin im Urlaub'],
  ['自動返信'],
])('13: an automatic reply with the diagnostics %j is no bounce (Resend)', async (diagnostics) => {
  expect(await read('resend', resendBounce(diagnostics))).toEqual([])
})

test.each([
  [`=?utf-8?Q?Ad=C3=A4?= <${ada}>`],
  [`${ada} (Ada Lovelace)`],
  [`Ada\r\n <${ada}>`],
  [`mailto:${ada}`],
  [`'${ada}'`],
  [`"eve@example.com" <${ada}>`],
  [`${ada};`],
])('14: the recipient %j is known', async (recipient) => {
  expect(await read('mailgun', { event: 'complained', recipient })).toEqual(ofAda('COMPLAINT'))
  expect(await read('sendgrid', [{ event: 'spamreport', email: recipient }])).toEqual(ofAda('COMPLAINT'))
  expect(await read('postmark', { RecordType: 'SpamComplaint', Email: recipient })).toEqual(ofAda('COMPLAINT'))
})

const topics = (now: string, before: string) => ({
  eventType: 'Subscription',
  mail: { messageId: 'id', destination: [ada] },
  subscription: {
    source: 'UnsubscribeHeader',
    newTopicPreferences: {
      unsubscribeAll: false,
      topicSubscriptionStatus: [{ topicName: 'news', subscriptionStatus: now }],
    },
    oldTopicPreferences: { topicSubscriptionStatus: [{ topicName: 'news', subscriptionStatus: before }] },
  },
})
/** What a person wants now, topic by topic, without what it was before. */
const wanted = (source: string, ...statuses: string[]) => ({
  eventType: 'Subscription',
  mail: { messageId: 'id', destination: [ada] },
  subscription: {
    source,
    newTopicPreferences: {
      topicSubscriptionStatus: statuses.map((subscriptionStatus, at) => ({
        topicName: `topic${at}`,
        subscriptionStatus,
      })),
    },
  },
})
test.each<[MailProvider, unknown, string[][]]>([
  ['ses', wanted('Page', 'OptOut'), ofAda('OPT_OUT')],
  ['ses', wanted('Page', 'OptOut', 'OptOut'), ofAda('OPT_OUT')],
  ['ses', wanted('UnsubscribeHeader', 'OptOut', 'OptIn'), ofAda('OPT_OUT')],
  ['ses', wanted('Page', 'OptOut', 'OptIn'), []],
  ['ses', wanted('Page', 'OptIn'), []],
  ['ses', topics('OptOut', 'OptIn'), ofAda('OPT_OUT')],
  ['ses', topics('OptOut', 'OptOut'), []],
  ['ses', topics('OptIn', 'OptOut'), []],
  ['sendgrid', [{ event: 'dropped', reason: 'Group Unsubscribed Address', email: ada }], ofAda('OPT_OUT')],
  ['sendgrid', [{ event: 'dropped', reason: 'User on the global unsubscribe list', email: ada }], ofAda('OPT_OUT')],
  ['mailgun', { event: 'unsubscribed', recipient: `Ada <${ada}>`, tags: ['news'] }, ofAda('OPT_OUT')],
])('15: an opt-out at %s: %j', async (provider, content, expected) => {
  expect(await read(provider, content)).toEqual(expected)
})

test.each([
  '550 5.2.1 Receiving limit exceeded for this user',
  '550 5.2.1 recipient exceeded the hourly receive limit',
  '550 5.2.1 Der Empfänger hat zu viele Nachrichten erhalten',
  '550 5.2.1 limite de réception dépassée',
  '550 5.2.1 the user is receiving messages too frequently, temporarily disabled',
])('16: a mailbox that gets too much mail exists: %s', (text) => {
  expect(classifyBounce({ text }).class).toBe('SOFT')
})

test.each<[MailProvider, unknown]>([
  ['ses', sesBounce({ emailAddress: ada, status: '5.1.1' }, 'Permanent', 'Suppressed')],
  ['ses', sesBounce({ emailAddress: ada, status: '5.1.1' }, 'Permanent', 'OnTenantSuppressionList')],
  ['mailgun', { event: 'failed', severity: 'permanent', reason: 'suppress-bounce', recipient: ada }],
  ['resend', { type: 'email.suppressed', data: { to: [ada], suppressed: { type: 'OnAccountSuppressionList' } } }],
])('17: an address that %s did not try is SOFT: %j', async (provider, content) => {
  expect(await read(provider, content)).toEqual(ofAda('SOFT'))
})

test.each(['', null, 'Réponse automatique : Absence', 'smtp; Out of Office: back on Monday'])(
  '18: an automatic reply with the diagnostics %j is no bounce (SES)',
  async (diagnosticCode) => {
    const recipient = { emailAddress: ada, diagnosticCode, status: '' }
    expect(await read('ses', sesBounce(recipient, 'Transient'))).toEqual([])
  },
)

test.each([`"Love, Ada" <${ada}>`, `rfc822;${ada}`, `<${ada}>`])('19: SES: the recipient %s is known', async (name) => {
  for (const action of [null, 'Failed', 'failure', ''])
    expect(await read('ses', sesBounce({ emailAddress: name, action, status: '5.1.1' }))).toEqual(ofAda('HARD'))
})

test.each([undefined, null, [], [{ emailAddress: '' }], [{ emailAddress: 'redacted' }], 'none'])(
  '20: a complaint that names %j is of the recipient of its message (SES)',
  async (complainedRecipients) => {
    const mail = { messageId: 'id', destination: [`Ada <${ada}>`] }
    expect(await read('ses', { notificationType: 'Complaint', mail, complaint: { complainedRecipients } })).toEqual(
      ofAda('COMPLAINT'),
    )
    expect(await read('ses', sesBounce(null))).toEqual(ofAda('HARD'))
  },
)

test.each([
  ['POLICY', '550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record (GMX)'],
  ['POLICY', '550 5.1.1 mail to this domain is not accepted from your country'],
  ['POLICY', '550 5.1.1 The recipient refused your message (Sieve)'],
  ['POLICY', '550 User unknown; rejected by local_scan(): score 12 (Exim)'],
  ['SOFT', '550 5.1.1 Recipient address rejected: unverified address: connect to mx.example: No route (Postfix)'],
  ['SOFT', '550 5.1.1 mailbox over capacity'],
  ['SOFT', '550 5.1.1 The recipient’s inbox is out of storage space (Gmail)'],
  ['SOFT', '550 5.2.1 Mailbox is being migrated (Exchange): migration in progress'],
  ['SOFT', '550 5.1.2 SERVFAIL for the domain'],
  ['SOFT', '550 5.1.1 user lookup failed: LDAP error (Zimbra)'],
  ['SOFT', '550 5.1.1 Boîte aux lettres saturée (Orange)'],
  ['SOFT', 'unable to get mx info: failed to get IPs from PTR record: lookup example.com (SendGrid)'],
  ['MESSAGE', '550 5.1.1 Message rejected as duplicate'],
  ['HARD', '550 5.1.1 user not found in LDAP database'],
  ['HARD', '550 5.1.1 undeliverable address: host mx.example said: 550 User unknown (Postfix)'],
])('an address that may be alive is not suppressed: %s for %s', (expected, text) => {
  expect(classifyBounce({ text }).class).toBe(expected)
})
