import { expect, test } from 'vitest'
import {
  providerSecrets,
  readTestCertificate,
  signMessage,
  reportsOf,
} from '@rapport/testing/mail-providers/provider-messages.ts'
import { type MailProvider, readProviderMessage } from './read-message.ts'

async function read(provider: MailProvider, content: unknown) {
  const context = { secret: providerSecrets[provider], now: new Date(), readUrl: readTestCertificate }
  const message = await readProviderMessage[provider](signMessage[provider](content), context)
  return reportsOf(message)
}

const classOf = async (provider: MailProvider, content: unknown) =>
  (await read(provider, content)).map((report) => report.class)

const failed = (event: object) => ({ event: 'failed', severity: 'permanent', recipient: 'ada@example.com', ...event })

const sesBounce = (bounceType: string, bounceSubType: string, status?: string) => ({
  eventType: 'Bounce',
  mail: { messageId: 'id' },
  bounce: { bounceType, bounceSubType, bouncedRecipients: [{ emailAddress: 'ada@example.com', status }] },
})

test.each([
  ['Permanent', 'General', undefined, 'HARD'],
  ['Permanent', 'NoEmail', undefined, 'HARD'],
  ['Permanent', 'OnAccountSuppressionList', undefined, 'SOFT'],
  ['Permanent', 'OnAccountSuppressionList', '5.1.1', 'SOFT'],
  ['Permanent', 'General', '5.7.1', 'POLICY'],
  ['Permanent', 'General', '5.0.0', 'HARD'],
  ['Transient', 'General', '5.1.1', 'SOFT'],
  ['Transient', 'MailboxFull', '5.2.2', 'SOFT'],
  ['Transient', 'ContentRejected', undefined, 'MESSAGE'],
  ['Transient', 'MessageTooLarge', '5.3.4', 'MESSAGE'],
  ['Undetermined', 'Undetermined', undefined, 'SOFT'],
  ['Undetermined', 'Undetermined', '5.1.1', 'SOFT'],
  ['constructor', '__proto__', undefined, 'SOFT'],
])('Amazon SES: %s %s %s is %s', async (...[type, subType, status, expected]) => {
  expect(await classOf('ses', sesBounce(type, subType, status))).toEqual([expected])
})

test('Amazon SES: a bounce of more than 100 recipients is malformed', async () => {
  const bounceOf = (count: number) => ({
    ...sesBounce('Permanent', 'General'),
    bounce: { bounceType: 'Permanent', bouncedRecipients: Array.from({ length: count }, () => ({})) },
  })
  expect(await classOf('ses', bounceOf(100))).toHaveLength(100)
  await expect(classOf('ses', bounceOf(101))).rejects.toThrow('The message is not a webhook of Amazon SES')
})

test.each([
  ['HardBounce', '', 'HARD'],
  ['HardBounce', 'smtp;550 5.7.1 blocked', 'POLICY'],
  ['HardBounce', 'smtp;550 unknown user', 'HARD'],
  ['HardBounce', 'smtp;550 DMARC check failed', 'POLICY'],
  ['HardBounce', 'smtp;550 5.2.1 receiving mail at a rate that prevents more', 'SOFT'],
  ['BadEmailAddress', '', 'HARD'],
  ['SoftBounce', 'smtp;550 5.1.1 unknown', 'SOFT'],
  ['SoftBounce', '', 'SOFT'],
  ['DnsError', '', 'SOFT'],
  ['Unknown', '', 'SOFT'],
  ['Blocked', '', 'POLICY'],
  ['SpamNotification', '', 'POLICY'],
  ['VirusNotification', '', 'MESSAGE'],
])('Postmark: %s with %j is %s', async (Type, Details, expected) => {
  expect(await classOf('postmark', { RecordType: 'Bounce', Type, Details, Email: 'ada@example.com' })).toEqual([
    expected,
  ])
})

test.each([
  [{ event: 'bounce', type: 'bounce', status: '5.0.0', reason: '550 5.1.1 unknown' }, 'HARD'],
  [{ event: 'bounce', type: 'bounce', status: '5.0.0', reason: '550 unknown' }, 'SOFT'],
  [{ event: 'bounce', type: 'bounce', status: '5.0.0', reason: '550 unknown user' }, 'HARD'],
  [{ event: 'bounce', bounce_classification: 'Invalid Address', status: '5.0.0' }, 'HARD'],
  [{ event: 'bounce', bounce_classification: 'Content' }, 'MESSAGE'],
  [{ event: 'bounce', bounce_classification: 'Reputation' }, 'POLICY'],
  [{ event: 'bounce', bounce_classification: 'constructor' }, 'SOFT'],
  [{ event: 'bounce', type: 'blocked', status: '5.1.1' }, 'SOFT'],
  [{ event: 'bounce', type: 'blocked', reason: '550 5.7.1 listed' }, 'POLICY'],
  [{ event: 'dropped', reason: 'Invalid' }, 'SOFT'],
  [{ event: 'dropped', reason: 'Bounced Address' }, 'SOFT'],
  [{ event: 'dropped', reason: 'Spam Content' }, 'MESSAGE'],
])('Twilio SendGrid: %j is %s', async (event, expected) => {
  expect(await classOf('sendgrid', [{ email: 'ada@example.com', ...event }])).toEqual([expected])
})

test.each([
  [{ 'delivery-status': { code: 550, message: '5.1.1 unknown' } }, 'HARD'],
  [{ 'delivery-status': { code: 550, message: 'No such user' } }, 'HARD'],
  [{ 'delivery-status': { code: 550, 'enhanced-code': '5.7.1' } }, 'POLICY'],
  [{ reason: 'suppress-bounce', 'delivery-status': { code: 605, message: '' } }, 'SOFT'],
  [{ reason: 'old', 'delivery-status': { code: 602, message: 'Too old' } }, 'SOFT'],
])('Mailgun: %j is %s', async (event, expected) => {
  expect(await classOf('mailgun', failed(event))).toEqual([expected])
})

test.each([
  [{ type: 'Permanent', subType: 'General' }, 'HARD'],
  [{ type: 'Permanent', subType: 'Suppressed' }, 'SOFT'],
  [{ type: 'Transient', subType: 'MailboxFull' }, 'SOFT'],
  [{ type: 'Permanent', subType: 'General', diagnosticCode: 'smtp; 554 5.7.1 refused' }, 'POLICY'],
  [undefined, 'SOFT'],
])('Resend: %j is %s', async (bounce, expected) => {
  const content = { type: 'email.bounced', data: { email_id: 'id', to: ['ada@example.com'], bounce } }
  expect(await classOf('resend', content)).toEqual([expected])
})

const change = (fields: object) => ({
  RecordType: 'SubscriptionChange',
  Recipient: 'ada@example.com',
  Origin: 'Recipient',
  SuppressSending: true,
  SuppressionReason: 'ManualSuppression',
  ...fields,
})
const preferences = (unsubscribeAll: boolean) => ({
  eventType: 'Subscription',
  mail: { messageId: 'id', destination: ['Ada <ada@example.com>'] },
  subscription: { timestamp: '2026-11-26T08:00:00.000Z', newTopicPreferences: { unsubscribeAll } },
})
const hidden = { notificationType: 'Complaint', mail: { messageId: 'id', destination: ['ada@example.com'] } }

test.each<[MailProvider, object, string | undefined]>([
  ['postmark', change({}), 'OPT_OUT'],
  ['postmark', change({ Origin: 'Customer' }), undefined],
  ['postmark', change({ Origin: 'Admin' }), undefined],
  ['postmark', change({ SuppressSending: false }), undefined],
  ['postmark', change({ SuppressionReason: 'SpamComplaint' }), 'COMPLAINT'],
  ['postmark', change({ SuppressionReason: 'HardBounce' }), undefined],
  ['postmark', { RecordType: 'Bounce', Type: 'Unsubscribe', Email: 'ada@example.com' }, 'OPT_OUT'],
  ['sendgrid', [{ event: 'unsubscribe', email: 'ada@example.com' }], 'OPT_OUT'],
  ['sendgrid', [{ event: 'group_unsubscribe', email: 'ada@example.com' }], 'OPT_OUT'],
  ['sendgrid', [{ event: 'group_resubscribe', email: 'ada@example.com' }], undefined],
  ['sendgrid', [{ event: 'dropped', reason: 'Unsubscribed Address', email: 'ada@example.com' }], 'OPT_OUT'],
  ['sendgrid', [{ event: 'dropped', reason: 'Spam Reporting Address', email: 'ada@example.com' }], 'COMPLAINT'],
  ['mailgun', { event: 'unsubscribed', recipient: 'ada@example.com' }, 'OPT_OUT'],
  ['mailgun', failed({ reason: 'suppress-unsubscribe' }), 'OPT_OUT'],
  ['mailgun', failed({ reason: 'suppress-complaint' }), 'COMPLAINT'],
  ['ses', preferences(true), 'OPT_OUT'],
  ['ses', preferences(false), undefined],
  ['ses', { ...hidden, complaint: { complainedRecipients: [] } }, 'COMPLAINT'],
])('%s: what a person said is their word: %j', async (provider, content, expected) => {
  const reports = await read(provider, content)
  expect(reports.map(({ type, email }) => [type, email])).toEqual(expected ? [[expected, 'ada@example.com']] : [])
})

test.each<[MailProvider, object]>([
  ['ses', sesBounce('Transient', 'General')],
  [
    'resend',
    { type: 'email.bounced', data: { to: 'ada@example.com', bounce: { type: 'Transient', subType: 'General' } } },
  ],
  ['mailgun', { event: 'rejected', reject: { reason: 'Sandbox subdomains are for test purposes only' } }],
  ['postmark', { RecordType: 'Bounce', Type: 'SMTPApiError', Email: 'ada@example.com' }],
  ['sendgrid', [{ event: 'dropped', reason: 'Recipient List over Package Quota', email: 'ada@example.com' }]],
])('%s: automatic replies and faults of the account report nothing: %j', async (provider, content) => {
  expect(await read(provider, content)).toEqual([])
})

test.each([
  ['Ada <ada@example.com>', 'ada@example.com'],
  ['"Lovelace, Ada" <ada@example.com>', 'ada@example.com'],
  ['Lovelace, Ada <ada@example.com>', 'ada@example.com'],
  ['eve@example.com <ada@example.com>', 'ada@example.com'],
  ['ada@example.com, ada@example.com', 'ada@example.com'],
  ['ada@example.com, eve@example.com', null],
  ['Ada', null],
])('a recipient is read: %s', async (to, expected) => {
  const [report] = await read('resend', { type: 'email.complained', data: { to: [to] } })
  expect(report?.email).toBe(expected)
})

test('removes what PostgreSQL cannot store from the texts of a provider', async () => {
  const content = {
    RecordType: 'Bounce',
    Type: 'HardBounce',
    Email: 'ada@example.com',
    Details: '550\u0000 5.1.1 \ud800',
  }
  const [bounce] = await read('postmark', content)
  expect(bounce?.detail).toBe('550  5.1.1 \ufffd')
  const headers = [{ name: 'Message-ID', value: '<a\u0000b\ud800@example.com>' }]
  const complaint = { notificationType: 'Complaint', mail: { headers }, complaint: { complainedRecipients: [{}] } }
  const [report] = await read('ses', complaint)
  expect(report?.messageId).toBe('<a b\ufffd@example.com>')
})

test.each(['not-spam', 'auth-failure', 'virus'])(
  'Amazon SES: feedback of the type %s is no complaint',
  async (type) => {
    const complaint = { complainedRecipients: [{ emailAddress: 'ada@example.com' }], complaintFeedbackType: type }
    expect(await classOf('ses', { notificationType: 'Complaint', mail: { messageId: 'id' }, complaint })).toEqual([])
  },
)
