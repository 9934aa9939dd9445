import type { MailHook } from '@rapport/core/mail-hooks/mail-hooks.schema.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const member = useForFile(() => api.join(workspace, 'MEMBER'))

const postmark = { provider: 'postmark', secret: providerSecrets.postmark }
const create = (body: unknown, key = workspace.key) => api.call<MailHook>('POST', '/mail-hooks', { key, body })

test('POST /mail-hooks, GET and DELETE /mail-hooks/{id}: the URL without the secret', async () => {
  const { status, headers, body: hook, text } = await create(postmark)
  expect([status, headers['location']]).toEqual([201, `/mail-hooks/${hook.id}`])
  expect(hook).toEqual({
    id: anId('mhk'),
    provider: 'postmark',
    url: `https://crm.example.com/mail-events/postmark/${hook.id}`,
    lastMessageAt: null,
    createdAt: aTimestamp,
  })
  const listed = await api.call('GET', '/mail-hooks', { key: workspace.key })
  expect(listed.body).toEqual({ data: [hook], nextCursor: null })
  expect(text + listed.text).not.toContain(providerSecrets.postmark)
  expect(await api.query('select encrypted_secret from mail_hooks')).toEqual([
    { encrypted_secret: expect.not.stringContaining(providerSecrets.postmark) },
  ])
  expect(await api.call('DELETE', `/mail-hooks/${hook.id}`, { key: workspace.key })).toMatchObject({ status: 204 })
  expectError(await api.call('GET', `/mail-hooks/${hook.id}`, { key: workspace.key }), 404, 'Mail hook not found')
  const audited = await api.call('GET', '/audit-log', { key: workspace.key })
  expect(audited.text).toContain('"action":"mail_hook.created"')
  expect(audited.text).toContain('"action":"mail_hook.deleted"')
})

test('a mail hook needs the role ADMIN', async () => {
  expectError(await create(postmark, member.token), 403)
  expectError(await api.call('GET', '/mail-hooks', { key: member.token }), 403)
})

test('POST /mail-hooks: names a secret that is not one of the provider', async () => {
  const { issues } = expectError(await create({ provider: 'ses', secret: 'arn:aws:sqs:eu-central-1:1:mail' }), 400)
  expect(issues).toEqual([
    {
      path: 'secret',
      message: 'must be the ARN of the Amazon SNS topic, such as arn:aws:sns:eu-central-1:123456789012:mail',
    },
  ])
  expectError(await create({ provider: 'sendmail', secret: 'x' }), 400)
})

test('a workspace has at most 20 mail hooks', async () => {
  const { key } = await api.signUp()
  for (let count = 0; count < 20; count++) expect((await create(postmark, key)).status).toBe(201)
  expect(await create(postmark, key)).toMatchObject({ status: 409, body: { code: 'quota_exceeded', limit: 20 } })
})
