import { expect, test } from 'vitest'
import { hardBounces } from '@rapport/testing/mail-providers/provider-bounces.ts'
import { signSns, testCertificateUrl, testTopic, reportsOf } from '@rapport/testing/mail-providers/provider-messages.ts'
import { snsCertificate } from '@rapport/testing/mail-providers/sns-certificate.ts'
import { originOfTopic } from './sns.ts'
import { readSesMessage } from './ses.ts'

const refusal = { code: 'unauthorized', message: 'Missing or invalid signature' }

/** Reads a message with a server that has the certificate under every URL, and returns what was requested. */
async function readFrom(message: ReturnType<typeof signSns>, certificate: string | undefined = snsCertificate) {
  const urls: string[] = []
  const readUrl = (url: string) => {
    urls.push(url)
    return Promise.resolve(certificate)
  }
  const read = async () => reportsOf(await readSesMessage(message, { secret: testTopic, now: new Date(), readUrl }))
  const result = await read().catch((error: unknown) => error)
  return { result, urls }
}

const notification = { Type: 'Notification', TopicArn: testTopic, Message: JSON.stringify(hardBounces.ses()) }

test.each(['1', '2'])('verifies signature version %s, with and without a subject', async (SignatureVersion) => {
  for (const subject of [{}, { Subject: 'Amazon SES Email Event Notification' }]) {
    const { result, urls } = await readFrom(signSns({ ...notification, ...subject, SignatureVersion }))
    expect(result).toMatchObject([{ class: 'HARD' }])
    expect(urls).toEqual([testCertificateUrl])
  }
})

test.each([
  'http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123abcd.pem',
  'https://sns.eu-central-1.amazonaws.com:8443/SimpleNotificationService-0123abcd.pem',
  'https://sns.eu-central-1.amazonaws.com@attacker.example/SimpleNotificationService-0123abcd.pem',
  'https://sns.eu-central-1.amazonaws.com/@attacker.example/a.pem',
  'https://user:pass@sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123abcd.pem',
  'https://sns.eu-central-1.amazonaws.com.attacker.example/SimpleNotificationService-0123abcd.pem',
  'https://sns.eu-central-1.amazonaws.com.cn/SimpleNotificationService-0123abcd.pem',
  'https://attacker.example/sns.eu-central-1.amazonaws.com/a.pem',
  'https://sns.eu-central-1.amazonaws.com\\@attacker.example/a.pem',
  'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123abcd.pem',
  'https://xsns.eu-central-1.amazonaws.com/a.pem',
  'https://s3.eu-central-1.amazonaws.com/bucket/a.pem',
  'https://sns.eu-central-1.amazonaws.com/../a.pem',
  'https://sns.eu-central-1.amazonaws.com/?Action=Redirect&to=a.pem',
  'https://sns.eu-central-1.amazonaws.com/a.pem#.pem',
  'https://sns.eu-central-1.amazonaws.com/a%2f.pem',
  'https://SNS.eu-central-1.amazonaws.com/a.pem',
  'https://sns.eu-central-1.amazonaws.com/a.pem\n',
  ' https://sns.eu-central-1.amazonaws.com/a.pem',
  '',
])('refuses a certificate at %j, and does not request it', async (SigningCertURL) => {
  const { result, urls } = await readFrom(signSns(notification, { changes: { SigningCertURL } }))
  expect(result).toMatchObject(refusal)
  expect(urls).toEqual([])
})

test('refuses another topic, and a certificate that is missing or did not sign', async () => {
  const other = await readFrom(signSns({ ...notification, TopicArn: `${testTopic}2` }))
  expect(other).toMatchObject({ result: refusal, urls: [] })
  expect((await readFrom(signSns(notification), 'no certificate')).result).toMatchObject(refusal)
  expect((await readFrom(signSns(notification, { changes: { Signature: '%' } }))).result).toMatchObject(refusal)
  for (const changed of [{ Message: '{}' }, { MessageId: 'other' }, { Type: 'SubscriptionConfirmation' }]) {
    expect((await readFrom(signSns(notification, { changes: changed }))).result).toMatchObject(refusal)
  }
})

const confirmation = {
  Type: 'SubscriptionConfirmation',
  TopicArn: testTopic,
  Message: 'You have chosen to subscribe to the topic',
  Token: '2336412f37',
  SubscribeURL: 'https://attacker.example/?Action=ConfirmSubscription',
}

test('confirms a subscription only at the host of the topic, whatever its URL says', async () => {
  const { result, urls } = await readFrom(signSns(confirmation))
  expect(result).toEqual([])
  const query = `Action=ConfirmSubscription&TopicArn=${encodeURIComponent(testTopic)}&Token=2336412f37`
  expect(urls).toEqual([testCertificateUrl, `https://sns.eu-central-1.amazonaws.com/?${query}`])
})

test('confirms nothing without a signature, and does not subscribe again', async () => {
  const unsigned = await readFrom(signSns(confirmation, { changes: { Token: 'other' } }))
  expect(unsigned).toMatchObject({ result: refusal, urls: [testCertificateUrl] })
  const ended = await readFrom(signSns({ ...confirmation, Type: 'UnsubscribeConfirmation' }))
  expect(ended).toMatchObject({ result: [], urls: [testCertificateUrl] })
})

test('the text that SES publishes first reports nothing', async () => {
  const message = signSns({
    ...notification,
    Message: 'Successfully validated SNS topic for Amazon SES event publishing.',
  })
  expect((await readFrom(message)).result).toEqual([])
})

test.each([
  ['arn:aws:sns:us-east-1:123456789012:mail', 'https://sns.us-east-1.amazonaws.com'],
  ['arn:aws-cn:sns:cn-north-1:123456789012:mail', 'https://sns.cn-north-1.amazonaws.com.cn'],
  ['arn:aws-us-gov:sns:us-gov-west-1:123456789012:mail', 'https://sns.us-gov-west-1.amazonaws.com'],
  ['arn:aws:sns:attacker.example/#-1:123456789012:mail', undefined],
  ['arn:aws:sqs:us-east-1:123456789012:mail', undefined],
  ['mail', undefined],
])('the topic %s has the origin %s', (arn, origin) => {
  expect(originOfTopic(arn)).toBe(origin)
})
