import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import type { CampaignInput } from '@rapport/core/campaigns/campaigns.schema.ts'
import { webVersionUrl } from '@rapport/core/campaigns/web-version.ts'
import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { createTestCampaign, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const ctx = () => api.ctx(workspace.id)

const list = useForFile(() => createTestList(api.ctx(workspace.id), { confirmed: 1 }))

async function createSent(input: Partial<CampaignInput>) {
  const campaign = await createTestCampaign(ctx(), { subject: 'News & more', listId: list.id, ...input })
  await sendCampaign(ctx(), campaign.id)
  const path = webVersionUrl(ctx(), campaign.id).replace(api.config.PUBLIC_URL, '')
  return { ...campaign, path }
}
const get = (path: string) => api.call('GET', path, { headers: { accept: 'text/html' } })

test('GET /public/campaigns/{id}/web: the email as a page without scripts, not indexed', async () => {
  const { path } = await createSent({ html: '<h1>Hi {{ contact.firstName }}</h1><script>alert(1)</script>' })
  const { status, text, headers } = await get(`${path}&utm_source=news`)
  expect([status, text]).toEqual([200, expect.stringContaining('<body><h1>Hi </h1><script>alert(1)</script></body>')])
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'x-robots-tag': 'noindex',
    'referrer-policy': 'no-referrer',
    'cache-control': expect.stringContaining('no-store'),
  })
  const policy = headers['content-security-policy'] ?? ''
  expect(policy).toMatch(/^sandbox [^;]*;.*default-src 'none'/)
  expect(policy).not.toMatch(/allow-scripts|allow-same-origin|allow-forms|script-src/)
})

test('a fragment becomes a page with a language and a title, a document stays', async () => {
  const fragment = await get((await createSent({ html: '<p>One</p>' })).path)
  expect(fragment.text).toMatch(
    /^<!doctype html>\n<html lang="en[^"]*">[^]*<title>News &amp; more<\/title>[^]*<p>One<\/p>/,
  )
  const html = '<HTML><title>Mine</title><p>One</p></HTML>'
  expect((await get((await createSent({ html })).path)).text).toBe(html)
})

test('a campaign with only text is shown as text', async () => {
  const { path } = await createSent({ text: 'A < B\n{{ webVersionUrl }}' })
  expect((await get(path)).text).toContain('<pre style="white-space:pre-wrap;font:inherit">A &lt; B\n</pre>')
})

test('a token that is forged, or of another campaign, is a 400; without a page, a 404', async () => {
  const [one, other] = [await createSent({ html: '<p>One</p>' }), await createSent({ html: '<p>Other</p>' })]
  const mixed = other.path.replace(other.id, one.id)
  for (const path of [mixed, `${one.path}x`, `/public/campaigns/${one.id}/web?token=x`])
    expect((await get(path)).status).toBe(400)
  const hidden = await createSent({ html: '<p>Hidden</p>', webVersion: false })
  const page = await get(hidden.path)
  expect([page.status, page.text.includes('<html')]).toEqual([404, true])
  expect((await get(one.path.replace(one.id, newId('cmp')))).status).toBe(400)
})

test('a page is rendered once in ten seconds, and that there is none is kept too', async () => {
  const shown = await createSent({ html: '<p>Shown</p>' })
  const hidden = await createSent({ html: '<p>Hidden</p>', webVersion: false })
  expect([(await get(shown.path)).status, (await get(hidden.path)).status]).toEqual([200, 404])
  await api.query('update campaigns set web_version = not web_version where id = any($1)', [
    [shown.id, hidden.id].map(uuidOf),
  ])
  expect([(await get(shown.path)).status, (await get(hidden.path)).status]).toEqual([200, 404])
})
