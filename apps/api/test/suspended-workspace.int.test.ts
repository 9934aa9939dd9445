/** A suspended workspace reads, and neither writes nor sends. */
import { suspendWorkspace, resumeWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCampaign, createTestForm, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { beforeAll, expect, test } from 'vitest'
import { expectError, freshEmail, operationsOf, startTestApi } from './testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const ctxOf = (id: string) => ({
  db: api.database.db,
  settings: settingsFrom(api.config),
  requestId: 'test',
  workspaceId: Id('wsp').parse(id),
  actor: { kind: 'system' as const },
})
const ctx = () => ctxOf(workspace.id)

/** The operations by other methods than GET that work in a suspended workspace. */
const exempt = [
  'POST /auth/logout',
  'POST /auth/resend-verification',
  'DELETE /sessions/{id}',
  'POST /mcp',
  'POST /segments/preview',
  'POST /campaigns/{id}/preview',
  'POST /templates/{id}/preview',
  'POST /contacts/{id}/erasure-receipt',
]

const links: Record<'confirm' | 'unsubscribe', string> = { confirm: '', unsubscribe: '' }
const ids = { list: '', form: '', campaign: '', template: '' }
beforeAll(async () => {
  const list = await createTestList(ctx())
  const form = await createTestForm(ctx())
  const campaign = await createTestCampaign(ctx(), { listId: list.id, html: '<p>Hello</p>' })
  const template = await createTestTemplate(ctx())
  Object.assign(ids, { list: list.id, form: form.id, campaign: campaign.id, template: template.id })
  const email = freshEmail()
  const contact = await api.create<{ id: string }>('/contacts', workspace.key, { email })
  const contactId = Id('con').parse(contact.id)
  await api.create(`/lists/${list.id}/subscribers`, workspace.key, { contactId, status: 'PENDING' })
  const path = (url: string) => url.replace(api.config.PUBLIC_URL, '')
  links.confirm = path(confirmationUrl(ctx(), { listId: list.id, contactId, email, issuedAt: timestampNow() }))
  links.unsubscribe = path(unsubscribeUrl(ctx(), { listId: list.id, contactId, email }))
  await suspendWorkspace(ctx())
})

test('every authenticated write returns 403, except those that end a session', async () => {
  const operations = (await operationsOf(api)).filter(({ method, isSecured }) => isSecured && method !== 'GET')
  expect(operations.length).toBeGreaterThan(40)
  for (const { method, template, path, hasBody, example } of operations) {
    if (exempt.includes(`${method} ${template}`)) continue
    const response = await api.call(method, path, { key: workspace.token, ...(hasBody && { body: example }) })
    expect(`${method} ${template} ${response.status} ${String(response.body['code'])}`).toBe(
      `${method} ${template} 403 workspace_suspended`,
    )
  }
})

test('every authenticated GET works', async () => {
  for (const { method, path, template, isSecured } of await operationsOf(api)) {
    if (method !== 'GET' || !isSecured) continue
    const { status } = await api.call(method, path, { key: workspace.key })
    expect(`${template} ${[200, 400, 404, 405].includes(status) ? 'read' : status}`).toBe(`${template} read`)
  }
  const { body } = await api.call('GET', '/workspace', { key: workspace.key })
  expect(body['suspendedAt']).toMatch(/Z$/)
  const me = await api.call<{ workspace: object }>('GET', '/auth/me', { key: workspace.key })
  expect(me.body.workspace).toEqual(body)
})

async function callTool(name: string, args: object) {
  const params = { name, arguments: args }
  const { body } = await api.call<{ result: { isError?: boolean; content: { text: string }[] } }>('POST', '/mcp', {
    key: workspace.key,
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
  })
  return body.result
}

test('the tools of agents that write are rejected, and those that read work', async () => {
  expect((await callTool('search_contacts', {})).isError).toBeFalsy()
  const refused = await callTool('upsert_contact', { email: freshEmail() })
  expect(refused.isError).toBe(true)
  expect(refused.content[0]?.text).toContain('workspace_suspended')
})

test('campaigns and templates can be previewed, by an agent too', async () => {
  const preview = (path: string) => api.call('POST', `${path}/preview`, { key: workspace.key })
  const html = expect.stringContaining('<p>Hello</p>') as string
  expect(await preview(`/campaigns/${ids.campaign}`)).toMatchObject({ status: 200, body: { html } })
  expect(await preview(`/templates/${ids.template}`)).toMatchObject({ status: 200 })
  const shown = await callTool('preview_campaign', { campaignId: ids.campaign })
  expect([shown.isError ?? false, shown.content[0]?.text]).toEqual([false, html])
})

test('visitors cannot subscribe, submit or confirm, but can unsubscribe', async () => {
  const email = freshEmail()
  const code = { code: 'workspace_suspended' }
  const subscribing = await api.call('POST', `/public/lists/${ids.list}/subscribe`, { body: { email } })
  expect(expectError(subscribing, 403)).toMatchObject(code)
  const submitting = await api.call('POST', `/public/forms/${ids.form}/submit`, { body: { values: {} } })
  expect(expectError(submitting, 403)).toMatchObject(code)
  const confirming = await api.call('POST', links.confirm, { headers: { accept: 'application/json' }, raw: '' })
  expect(expectError(confirming, 403)).toMatchObject(code)
  const page = await api.call('POST', links.confirm, { headers: { accept: 'text/html' } })
  expect([page.status, page.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8'])
  expect((await api.call('POST', links.unsubscribe)).status).toBe(200)
})

test('members can ask for another link, which verifies their address', async () => {
  const { email, password, token: key } = workspace
  const anHourAgo = `now() - interval '61 minutes'`
  await api.query(`update users set verification_mailed_at = ${anHourAgo} where email = $1`, [email])
  expect((await api.call('POST', '/auth/resend-verification', { key })).status).toBe(202)
  const token = await api.tokenMailedTo(email)
  expect((await api.call('POST', '/auth/verify-email', { body: { token, password } })).status).toBe(204)
})

test('members can log in and out, and a resumed workspace works at once', async () => {
  const login = { email: workspace.email, password: workspace.password }
  const { body } = await api.call<{ token: string }>('POST', '/auth/login', { body: login })
  expect((await api.call('POST', '/auth/logout', { key: body.token })).status).toBe(204)
  const other = await api.signUp()
  const create = () => api.call('POST', '/contacts', { key: other.key, body: { email: freshEmail() } })
  expect((await create()).status).toBe(201)
  await suspendWorkspace(ctxOf(other.id))
  expect((await create()).status).toBe(403)
  await resumeWorkspace(ctxOf(other.id))
  expect((await create()).status).toBe(201)
})
