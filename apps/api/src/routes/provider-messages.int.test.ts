import { mailProviders } from '@rapport/core/db/schema/index.ts'
import type { MailHook } from '@rapport/core/mail-hooks/mail-hooks.schema.ts'
import type { MailProvider } from '@rapport/core/mail/providers/read-message.ts'
import { complaints, hardBounces, otherEvents } from '@rapport/testing/mail-providers/provider-bounces.ts'
import {
  type ProviderMessage,
  providerSecrets,
  readTestCertificate,
  signMessage,
} from '@rapport/testing/mail-providers/provider-messages.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { freshAddress, freshEmail, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const api = useForFile(() => startTestApi({ readUrl: readTestCertificate }))

let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
})

const createHook = (provider: MailProvider, key = workspace.key) =>
  api.create<MailHook>('/mail-hooks', key, { provider, secret: providerSecrets[provider] })

const send = (url: string, { headers, body }: ProviderMessage, from = freshAddress()) =>
  api.call('POST', url.replace('https://crm.example.com', ''), { raw: body, headers, from })

async function reasonsOf(email: string, key = workspace.key) {
  const { body } = await api.call<{ data: { reason: string }[] }>('GET', `/suppressions?email=${email}`, { key })
  return body.data.map(({ reason }) => reason)
}

async function countEvents(type: string) {
  const { body } = await api.call<{ data: unknown[] }>('GET', `/events?type=${type}`, { key: workspace.key })
  return body.data.length
}

const refusal = {
  statusCode: 401,
  message: 'Missing or invalid signature',
  error: 'Unauthorized',
  code: 'unauthorized',
}

describe.each(mailProviders)('%s', (provider) => {
  test('a bounce suppresses the address, also if the message comes twice at once', async () => {
    const email = freshEmail()
    const { url } = await createHook(provider)
    const message = signMessage[provider](hardBounces[provider]({ email }))
    const responses = await Promise.all(Array.from({ length: 5 }, () => send(url, message)))
    expect(responses.map(({ status, body }) => [status, body])).toEqual(responses.map(() => [200, { success: true }]))
    expect(await reasonsOf(email)).toEqual(['BOUNCED'])
    await expect.poll(() => countEvents('mail.bounced')).toBe(1)
  })

  test('a complaint suppresses the address, and other events change nothing', async () => {
    const email = freshEmail()
    const { url } = await createHook(provider)
    for (const event of otherEvents[provider])
      expect(await send(url, signMessage[provider](event))).toMatchObject({ status: 200 })
    expect(await countEvents('mail.bounced')).toBe(0)
    await send(url, signMessage[provider](complaints[provider]({ email })))
    expect(await reasonsOf(email)).toEqual(['COMPLAINED'])
  })

  test('no signature, a changed body, and an unknown or deleted hook get the same 401', async () => {
    const email = freshEmail()
    const { id, url } = await createHook(provider)
    const message = signMessage[provider](hardBounces[provider]({ email }))
    const unknown = url.replace(/.{8}$/, 'zzzzzzzz')
    await api.call('DELETE', `/mail-hooks/${(await createHook(provider)).id}`, { key: workspace.key })
    const refused = [
      await send(url, { headers: {}, body: Buffer.from('{}') }),
      await send(url, {
        ...message,
        headers: { ...message.headers, authorization: 'Basic eDp5' },
        body: Buffer.from('[]'),
      }),
      await send(unknown, message),
      await send(url.replace(id, 'mhk_x'), message),
      await send(url.replace(provider, provider === 'ses' ? 'resend' : 'ses'), message),
    ]
    for (const response of refused) expect(response).toMatchObject({ status: 401, body: refusal })
    expect(await reasonsOf(email)).toEqual([])
  })

  test('malformed and huge messages get a 4xx, signed or not', async () => {
    const { url } = await createHook(provider)
    const { headers } = signMessage[provider]([])
    const deep = Buffer.from('['.repeat(200_000))
    for (const body of [
      deep,
      Buffer.from('{"a":'),
      Buffer.alloc(0),
      Buffer.from([0xff, 0xfe, 0]),
      Buffer.from('null'),
    ]) {
      const { status } = await send(url, { headers, body })
      expect([400, 401]).toContain(status)
    }
    for (const content of [null, 'text', 7, [[]]]) {
      expect((await send(url, signMessage[provider](content))).status).toBe(400)
    }
    expect((await send(url, { headers, body: Buffer.alloc(1_048_577, 32) })).status).toBe(413)
  })

  test('a hook changes nothing in another workspace', async () => {
    const email = freshEmail()
    const { url } = await createHook(provider)
    const other = await api.signUp()
    await send(url, signMessage[provider](hardBounces[provider]({ email })))
    expect([await reasonsOf(email), await reasonsOf(email, other.key)]).toEqual([['BOUNCED'], []])
  })
})

test('a message that cannot be recorded is a 5xx and counts when it comes again', async () => {
  const email = freshEmail()
  const { url } = await createHook('mailgun')
  const message = signMessage.mailgun(hardBounces.mailgun({ email }))
  await api.query('alter table mail_reports rename to mail_reports_away')
  const failed = await send(url, message)
  await api.query('alter table mail_reports_away rename to mail_reports')
  expect([failed.status, api.takeLog().length]).toEqual([500, 1])
  expect([(await send(url, message)).status, await reasonsOf(email)]).toEqual([200, ['BOUNCED']])
})

test('POST /mail-events/{provider}/{token}: the general limit holds', async () => {
  const { url } = await createHook('resend')
  const from = freshAddress()
  const statuses: number[] = []
  for (let count = 0; count < 101; count++)
    statuses.push((await send(url, { headers: {}, body: Buffer.from('x') }, from)).status)
  expect([statuses.filter((status) => status === 401).length, statuses.at(-1)]).toEqual([100, 429])
})
