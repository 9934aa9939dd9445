import { describe, expect, test } from 'vitest'
import { complaints, hardBounces, otherEvents } from '@rapport/testing/mail-providers/provider-bounces.ts'
import {
  type ProviderMessage,
  providerSecrets,
  readTestCertificate,
  signMessage,
  reportsOf,
} from '@rapport/testing/mail-providers/provider-messages.ts'
import type { ProviderReport } from './provider-report.ts'
import { mailProviders } from '../../db/schema/index.ts'
import { type MailProvider, readProviderMessage, secretRules } from './read-message.ts'

const now = new Date('2026-11-26T08:00:00.000Z')
const hours = (count: number) => new Date(now.getTime() + count * 3_600_000)
const refusal = { code: 'unauthorized', message: 'Missing or invalid signature' }

const read = async (
  provider: MailProvider,
  message: ProviderMessage,
  secret = providerSecrets[provider],
): Promise<ProviderReport[]> => {
  const read = await readProviderMessage[provider](message, { secret, now, readUrl: readTestCertificate })
  return reportsOf(read)
}

const withBody = (message: ProviderMessage, body: string) => ({ ...message, body: Buffer.from(body) })

describe.each(mailProviders)('%s', (provider) => {
  const sign = (content: unknown, at = now) => signMessage[provider](content, { at })
  const signed = sign(hardBounces[provider]())

  test('reads a bounce of an unknown address as HARD', async () => {
    const reports = await read(provider, signed)
    expect(reports).toEqual([
      expect.objectContaining({ type: 'BOUNCE', email: 'ada@example.com', class: 'HARD', code: '5.1.1' }),
    ])
    expect(reports[0]?.detail).toContain('User unknown')
  })

  test('reads a complaint', async () => {
    const reports = await read(provider, sign(complaints[provider]()))
    const complaint = { type: 'COMPLAINT', email: 'ada@example.com', class: null, code: null, detail: 'abuse' }
    expect(reports).toEqual([expect.objectContaining(complaint)])
  })

  test('reports nothing for deliveries, opens, delays and replies', async () => {
    for (const event of otherEvents[provider]) expect(await read(provider, sign(event))).toEqual([])
  })

  test('names the email by the id of the provider or by its Message-ID', async () => {
    const mail = { providerId: 'id-1', messageId: '<m-1@example.com>' }
    const [report] = await read(provider, sign(hardBounces[provider](mail)))
    expect([report?.providerMessageId, report?.messageId]).toEqual(namesOf[provider])
  })

  test('refuses a message without signature, and one that another key signed', async () => {
    await expect(read(provider, { headers: {}, body: Buffer.from('{}') })).rejects.toMatchObject(refusal)
    await expect(read(provider, { headers: {}, body: Buffer.from('not JSON') })).rejects.toMatchObject(refusal)
    await expect(read(provider, { headers: {}, body: Buffer.from('null') })).rejects.toMatchObject(refusal)
    await expect(read(provider, signed, otherSecrets[provider])).rejects.toMatchObject(refusal)
    await expect(read(provider, signed, '')).rejects.toMatchObject(refusal)
  })

  test('rejects a signed message of another format, and ignores values of other types', async () => {
    for (const content of [null, 5, 'text', [1, null]]) {
      const message = sign(content)
      await expect(read(provider, message)).rejects.toMatchObject({ code: 'validation_error' })
    }
    const [event] = [hardBounces[provider]()].flat()
    const strange = JSON.parse(JSON.stringify(event).replaceAll('"ada@example.com"', '{"a":1}')) as unknown
    const reports = await read(provider, sign(provider === 'sendgrid' ? [strange] : strange))
    expect(reports).toEqual([expect.objectContaining({ email: null, class: 'HARD' })])
  })

  test('accepts only a secret of its form', () => {
    const { isValid } = secretRules[provider]
    expect([isValid(providerSecrets[provider]), isValid('short'), isValid('')]).toEqual([true, false, false])
  })
})

const namesOf: Record<MailProvider, [string | null, string | null]> = {
  mailgun: [null, 'm-1@example.com'],
  postmark: ['id-1', null],
  resend: ['id-1', null],
  sendgrid: ['id-1', '<m-1@example.com>'],
  ses: ['id-1', '<m-1@example.com>'],
}

const otherSecrets: Record<MailProvider, string> = {
  mailgun: 'key-0123456789abcdef0123456789abcdee',
  postmark: 'a-password-that-only-postmark-had',
  resend: `whsec_${Buffer.from('1123456789abcdef01234567').toString('base64')}`,
  // A public key of the curve P-256 that signed nothing.
  sendgrid:
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQt/rc4BKT7Hk9YNycWZqMrfVU+0aBXxsKkTBpP31EAdv3vcXpSzvZ/qaesb8R7FM/spiexPDm26g+zPcGJiEDQ==',
  ses: 'arn:aws:sns:eu-central-1:123456789012:other',
}

test.each(['resend', 'sendgrid', 'ses'] as const)('%s: refuses a message that was changed', async (provider) => {
  const message = signMessage[provider](hardBounces[provider](), { at: now })
  const changed = withBody(message, message.body.toString().replaceAll('ada@', 'bob@'))
  await expect(read(provider, changed)).rejects.toMatchObject(refusal)
})

test.each(['mailgun', 'resend', 'sendgrid', 'ses'] as const)(
  '%s: refuses a message that was signed long ago, or in the future',
  async (provider) => {
    for (const at of [hours(-26), hours(1)]) {
      const message = signMessage[provider](hardBounces[provider](), { at })
      await expect(read(provider, message)).rejects.toMatchObject(refusal)
    }
  },
)

test('a token of Mailgun is returned, because its signature does not cover the event', async () => {
  const message = signMessage.mailgun(hardBounces.mailgun(), { at: now })
  const { signature } = JSON.parse(message.body.toString()) as { signature: { token: string } }
  const context = { secret: providerSecrets.mailgun, now, readUrl: readTestCertificate }
  expect(await readProviderMessage.mailgun(message, context)).toMatchObject({ signedToken: signature.token })
})

test('Postmark names an email by the returned Message-ID only without its own id', async () => {
  const bounce = { ...hardBounces.postmark({ messageId: '<m-1@example.com>' }), MessageID: null }
  const reports = await read('postmark', signMessage.postmark(bounce))
  expect(reports).toMatchObject([{ providerMessageId: null, messageId: '<m-1@example.com>' }])
})

test('Postmark may send its secret as a bearer token', async () => {
  const message = signMessage.postmark(hardBounces.postmark())
  const authorization = `Bearer ${providerSecrets.postmark}`
  expect(await read('postmark', { ...message, headers: { authorization } })).toHaveLength(1)
  for (const wrong of [providerSecrets.postmark, `Basic ${providerSecrets.postmark}`, 'Bearer ', 'Basic ']) {
    await expect(read('postmark', { ...message, headers: { authorization: wrong } })).rejects.toMatchObject(refusal)
  }
})

test('Resend is refused after five minutes, and accepted with either of two signatures', async () => {
  const message = signMessage.resend(complaints.resend(), { at: new Date(now.getTime() - 6 * 60_000) })
  await expect(read('resend', message)).rejects.toMatchObject(refusal)
  const fresh = signMessage.resend(complaints.resend(), { at: now })
  const signatures = `v1,AAAA ${fresh.headers['svix-signature']}`
  const rotated = { ...fresh, headers: { ...fresh.headers, 'svix-signature': signatures } }
  expect(await read('resend', rotated)).toHaveLength(1)
})
