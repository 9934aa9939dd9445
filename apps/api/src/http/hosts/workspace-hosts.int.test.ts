/** Requests to the host of a workspace, and to all others. */
import { createTracking } from '@rapport/core/campaigns/tracking.ts'
import { preferencesUrl, testPreferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { trackingConfirmationUrl } from '@rapport/core/consent/tracking/tracking-links.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { webVersionUrl } from '@rapport/core/campaigns/web-version.ts'
import { withPagesUrl } from '@rapport/core/domains/hosts/pages-url.ts'
import { type CampaignId, Id, type ListId, newId } from '@rapport/core/kernel/ids.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'
import {
  confirmationUrl,
  testUnsubscribeUrl,
  undoToken,
  unsubscribeUrl,
} from '@rapport/core/lists/subscription-links.ts'
import { trackHtml } from '@rapport/core/rendering/track-html.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestCampaign } from '@rapport/testing/fixtures/factories.ts'
import { addVerifiedHost } from '@rapport/testing/network/sending-domains.ts'
import { beforeAll, expect, test } from 'vitest'
import { aForm } from '../../../test/isolation-cases.ts'
import { freshEmail, operationsOf, startTestApi, type TestWorkspace } from '../../../test/testing.ts'

const api = useForFile(() =>
  startTestApi({
    timings: { hostsTtlMs: 0 },
    environment: { METRICS_TOKEN: 'a-token-of-the-metrics', DASHBOARD_PASSWORD: 'a long password' },
  }),
)
const [host, otherHost] = ['news.client.example', 'xn--bro-hoa.other.example']
const accept = 'text/html'

/** The requests that the pages of a workspace answer, by operation. */
type Pages = Record<string, { path: string; body?: unknown; form?: string }>
let own: Pages = {}
let other: Pages = {}
let workspace: TestWorkspace
beforeAll(async () => {
  workspace = await api.signUp()
  own = await createPages(workspace, 'client.example', host)
  other = await createPages(await api.signUp(), 'other.example', otherHost)
})

async function sendTestCampaign(ctx: Ctx, listId: ListId): Promise<CampaignId> {
  const { id } = await createTestCampaign(ctx, { listId, html: '<p>Hi</p>' })
  await sendCampaign(ctx, id)
  return id
}

async function createPages({ id, key }: TestWorkspace, name: string, ownHost: string): Promise<Pages> {
  await addVerifiedHost(api.ctx(id), name, ownHost)
  const ctx = await withPagesUrl(api.ctx(id))
  const form = String((await api.create('/forms', key, aForm))['id'])
  const list = await api.create<List>('/lists', key, { name: 'Newsletter' })
  const contact = await api.create<{ id: string; email: string }>('/contacts', key, { email: freshEmail() })
  const contactId = Id('con').parse(contact.id)
  await api.create(`/lists/${list.id}/subscribers`, key, { contactId, status: 'CONFIRMED' })
  const now = timestampNow()
  const link = { listId: list.id, contactId, email: contact.email, issuedAt: now, saidAt: now }
  const recipient = { campaignId: newId('cmp'), contactId }
  const html = trackHtml(
    '<a href="https://shop.example/">x</a>',
    createTracking(ctx, { recipient, opens: 'PERSON', clicks: 'PERSON' }),
  )
  const [click = '', open = ''] = html.match(/https:[^"]+/g) ?? []
  const urls = [
    ['GET /public/click', click],
    ['GET /public/open', open],
    ['GET /public/campaigns/{id}/web', webVersionUrl(ctx, await sendTestCampaign(ctx, list.id))],
    ['GET /public/subscriptions/confirm', confirmationUrl(ctx, link)],
    ['POST /public/subscriptions/confirm', confirmationUrl(ctx, link)],
    ['GET /public/unsubscribe', unsubscribeUrl(ctx, link)],
    ['POST /public/unsubscribe', unsubscribeUrl(ctx, link)],
    ['GET /public/unsubscribe (test)', testUnsubscribeUrl(ctx, list.id)],
    ['GET /public/preferences', preferencesUrl(ctx, link)],
    ['GET /public/preferences (test)', testPreferencesUrl(ctx)],
    ['GET /public/tracking/confirm', trackingConfirmationUrl(ctx, { ...link, scope: ['opens'] })],
    ['POST /public/tracking/confirm', trackingConfirmationUrl(ctx, { ...link, scope: ['opens'] })],
  ] as const
  for (const [, url] of urls) expect(new URL(url).hostname).toBe(ownHost)
  const withTokens = urls.map(([operation, url]) => [operation, { path: url.replace(`https://${ownHost}`, '') }])
  const undo = `/public/subscriptions/undo-unsubscribe?token=${undoToken(ctx, link)}`
  const token = new URL(preferencesUrl(ctx, link)).searchParams.get('token') ?? ''
  return {
    ...(Object.fromEntries(withTokens) as Pages),
    'POST /public/subscriptions/undo-unsubscribe': { path: undo },
    'POST /public/preferences': { path: '/public/preferences', form: new URLSearchParams({ token }).toString() },
    'GET /public/forms/{id}': { path: `/public/forms/${form}` },
    'POST /public/forms/{id}/submit': { path: `/public/forms/${form}/submit`, body: { values: {} } },
    'POST /public/lists/{id}/subscribe': { path: `/public/lists/${list.id}/subscribe`, body: { email: freshEmail() } },
    'GET /f/{id}': { path: `/f/${form}` },
    'POST /f/{id}': { path: `/f/${form}`, form: 'email=ada%40example.com' },
    'GET /f/{id}/thanks': { path: `/f/${form}/thanks` },
  }
}

function request(operation: string, { path, body, form }: Pages[string], at: string) {
  const posted =
    form === undefined ? {} : { raw: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  return api.call(operation.split(' ')[0] ?? '', path, {
    ...posted,
    ...(body !== undefined && { body }),
    headers: { accept, host: at, ...posted.headers },
  })
}

test('every public page has a case here', async () => {
  const known = Object.keys(own).map((operation) => operation.replace(' (test)', ''))
  const pages = (await operationsOf(api)).filter(({ template }) => /^\/(public|f)\//.test(template))
  expect(pages.map(({ method, template }) => `${method} ${template}`).toSorted()).toEqual(
    [...new Set(known)].toSorted(),
  )
})

test('the pages of a workspace are served at its host and at that of PUBLIC_URL', async () => {
  for (const at of [host, 'crm.example.com', 'localhost', '127.0.0.1:3000']) {
    for (const [operation, page] of Object.entries(own)) {
      const { status } = await request(operation, page, at)
      expect([operation, at, status]).not.toEqual([operation, at, 404])
      expect(status).toBeLessThan(500)
    }
  }
  expect((await request('GET', { path: '/embed/form.js' }, host)).status).toBe(200)
})

test('a token, form or list of another workspace is a 404 at a host', async () => {
  for (const [operation, page] of Object.entries(other)) {
    expect([operation, (await request(operation, page, host)).status]).toEqual([operation, 404])
    expect([operation, (await request(operation, page, otherHost)).status]).not.toEqual([operation, 404])
    // What was read for its own workspace is not in a cache for the other one.
    expect([operation, (await request(operation, page, host)).status]).toEqual([operation, 404])
  }
})

test('a browser that opens the link of another workspace sees a page', async () => {
  const { text, status } = await request('GET', other['GET /public/unsubscribe'] ?? { path: '' }, host)
  expect(status).toBe(404)
  expect(text).toContain('<html')
})

test('the API and everything else of the operator is a 404 at a host', async () => {
  const operations = (await operationsOf(api)).filter(({ template }) => !/^\/(public|f|embed)\//.test(template))
  const paths = operations.map(({ method, path }) => [method, path] as const)
  const hidden = ['/', '/docs/', '/docs/reference', '/openapi.json', '/llms.txt', '/queues', '/queues/', '/metrics']
  const unknown = [
    ['PUT', '/contacts'],
    ['GET', '/unknown'],
    ['GET', '/contacts/'],
  ] as const
  for (const [method, path] of [...paths, ...hidden.map((path) => ['GET', path] as const), ...unknown]) {
    const headers = { host, authorization: `Bearer ${workspace.key}` }
    const { statusCode, headers: sent } = await api.app.inject({ method: method as 'GET', url: path, headers })
    expect([method, path, statusCode, sent['allow']]).toEqual([method, path, 404, undefined])
  }
})

test('probes, metrics, the API and the pages go on at every other host', async () => {
  const hosts = ['crm.example.com', 'CRM.example.com:443', 'localhost:3000', '10.0.0.7', '[::1]:3000', 'api.svc.local']
  for (const at of hosts) {
    const get = async (path: string, token = workspace.key) =>
      (await api.call('GET', path, { key: token, headers: { host: at } })).status
    expect([at, await get('/health'), await get('/ready'), await get('/contacts')]).toEqual([at, 200, 200, 200])
    expect(await get('/metrics', 'a-token-of-the-metrics')).toBe(200)
    expect(await get('/docs/')).toBe(200)
  }
})

test.each(['NEWS.Client.Example', 'news.client.example:443', 'news.client.example.', 'News.client.example.:8443'])(
  'the host in the spelling %s is the same',
  async (spelling) => {
    const page = other['GET /f/{id}'] ?? { path: '' }
    expect((await request('GET', page, spelling)).status).toBe(404)
    expect((await request('GET', own['GET /f/{id}'] ?? page, spelling)).status).toBe(200)
    expect((await api.app.inject({ url: '/contacts', headers: { host: spelling } })).statusCode).toBe(404)
  },
)

test('x-forwarded-host counts from a trusted proxy only', async () => {
  const get = async (headers: Record<string, string>, remoteAddress: string) =>
    (await api.app.inject({ url: '/health', headers, remoteAddress })).statusCode
  const forwarded = { host: '10.0.0.7', 'x-forwarded-host': host }
  expect([await get(forwarded, '127.0.0.1'), await get(forwarded, '203.0.113.9')]).toEqual([404, 200])
  const escaped = { host, 'x-forwarded-host': 'crm.example.com' }
  expect([await get(escaped, '127.0.0.1'), await get(escaped, '203.0.113.9')]).toEqual([200, 404])
})

test('a host that is given up for another one goes on with former links', async () => {
  const { id, key } = await api.signUp()
  const first = 'first.moved.example'
  const pages = await createPages({ ...workspace, id, key }, 'moved.example', first)
  const { body } = await api.call<{ data: { id: string }[] }>('GET', '/domains', { key })
  const change = { key, body: { host: 'second.moved.example' } }
  const moved = await api.call('PATCH', `/domains/${body.data[0]?.id}`, change)
  expect(moved).toMatchObject({ status: 200, body: { host: 'second.moved.example' } })
  expect((await request('GET', pages['GET /public/preferences'] ?? { path: '' }, first)).status).toBe(200)
  expect((await request('GET', own['GET /public/preferences'] ?? { path: '' }, first)).status).toBe(404)
})

test('GET /tls-allowed: 204 for PUBLIC_URL and verified hosts only', async () => {
  const ask = async (domain: string, at = '127.0.0.1:3001') =>
    (await api.call('GET', `/tls-allowed?domain=${domain}`, { headers: { host: at } })).status
  for (const domain of ['crm.example.com', host, 'NEWS.client.example', `${host}.`, otherHost])
    expect([domain, await ask(domain)]).toEqual([domain, 204])
  for (const domain of ['client.example', `www.${host}`, '127.0.0.1', 'localhost', '', '%00', 'a'.repeat(400)])
    expect([domain, await ask(domain)]).toEqual([domain, 404])
  expect(await ask(host, host)).toBe(404)
  const { status, headers } = await api.call('GET', '/tls-allowed')
  expect([status, headers['x-ratelimit-limit']]).toEqual([400, undefined])
})

test('POST /domains, PATCH /domains/{id}: the host is the domain or below it', async () => {
  const { key } = await api.signUp()
  const create = (body: object) => api.call('POST', '/domains', { key, body })
  for (const bad of [
    'https://a.new.example',
    'a.new.example:443',
    'a.new.example/x',
    'b.example',
    'bounce.new.example',
  ])
    expect(await create({ name: 'new.example', host: bad })).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'host' }] },
    })
  const created = await create({ name: 'new.example', host: 'A.New.Example.' })
  expect(created).toMatchObject({ status: 201, body: { host: 'a.new.example' } })
  const records = created.body['records'] as { purpose: string }[]
  expect(records.find(({ purpose }) => purpose === 'HOST')).toMatchObject({
    type: 'CNAME',
    name: 'a.new.example',
    value: 'crm.example.com',
    status: 'PENDING',
  })
  const path = `/domains/${String(created.body['id'])}`
  const patch = (host: string | null) => api.call('PATCH', path, { key, body: { host } })
  expect(await patch('büro.new.example')).toMatchObject({ status: 200, body: { host: 'xn--bro-hoa.new.example' } })
  expect(await patch('client.example')).toMatchObject({ status: 400, body: { issues: [{ path: 'host' }] } })
  expect(await patch(null)).toMatchObject({ status: 200, body: { host: null } })
  expect(await create({ name: 'client.example', host })).toMatchObject({
    status: 409,
    body: { code: 'already_exists' },
  })
  expect(await create({ name: 'example.com', host: 'crm.example.com' })).toMatchObject({
    status: 409,
    body: { code: 'already_exists' },
  })
})
