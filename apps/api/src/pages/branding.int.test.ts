import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import {
  computeContrast,
  minTextContrast,
  mixWithWhite,
  whiteShareInDarkMode,
} from '@rapport/core/kernel/values/color-contrast.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aForm } from '../../test/isolation-cases.ts'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const browser = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }

const api = useForFile(() => startTestApi())
const workspace = useForTest(() => api.signUp())
const patch = (body: object) => api.call('PATCH', '/workspace', { key: workspace.token, body })
const open = (method: string, path: string) =>
  api.call(method, path, { headers: browser, ...(method === 'POST' && { raw: 'x=1' }) })

/** The pages of the workspace that visitors see, as method and path. */
async function findVisitorPages(): Promise<[string, string][]> {
  const form = String((await api.create('/forms', workspace.key, aForm))['id'])
  const list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  const contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: contact.email } })
  const link = { listId: list.id, contactId: contact.id, email: contact.email, issuedAt: timestampNow() }
  const ctx = api.ctx(workspace.id)
  const [confirm, leave, preferences] = [
    confirmationUrl(ctx, link),
    unsubscribeUrl(ctx, link),
    preferencesUrl(ctx, link),
  ].map((url) => url.replace('https://crm.example.com', '')) as [string, string, string]
  return [
    ['GET', `/f/${form}`],
    ['POST', `/f/${form}`],
    ['GET', `/f/${form}/thanks`],
    ['GET', confirm],
    ['POST', confirm],
    ['GET', leave],
    ['POST', leave],
    ['GET', preferences],
  ]
}

test('the pages of a workspace show its name, and load nothing without a logo', async () => {
  await patch({ name: 'Engines & <b>' })
  for (const [method, path] of await findVisitorPages()) {
    const { text, headers } = await open(method, path)
    expect([path, text]).toEqual([path, expect.stringContaining('<div class="brand">Engines &amp; &lt;b&gt;</div>')])
    expect(headers['content-security-policy']).not.toContain('img-src')
    expect(text).not.toMatch(/<img|\ssrc=/)
  }
})

test('the pages show logo and color, and may load images of its origin only', async () => {
  const logoUrl = `https://images.example.com:8443/logo.svg?a="><script>&b='`
  expect(await patch({ name: 'Engines "&"', logoUrl, accentColor: '#7A1FA2' })).toMatchObject({
    status: 200,
    body: { logoUrl, accentColor: '#7a1fa2' },
  })
  for (const [method, path] of await findVisitorPages()) {
    const { text, headers } = await open(method, path)
    expect(text).toContain('<div class="brand"><img src="https://images.example.com:8443/logo.svg?a=')
    expect(text).toContain('alt="Engines &#34;&amp;&#34;"></div>')
    expect(text).not.toContain('<script')
    expect(text).toContain(':root { --accent: #7a1fa2 }')
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}' 'sha256-[\w+/=]{44}'; img-src https:\/\/images\.example\.com:8443; form-action 'self'; base-uri 'none'; frame-ancestors ('none'|\*)$/,
    )
  }
})

test('the branding of one workspace is on its own pages only, and can be removed', async () => {
  await patch({ name: 'Engines', logoUrl: 'https://images.example.com/logo.png', accentColor: '#7a1fa2' })
  const [ownPath] = (await findVisitorPages()).flatMap(([, path]) => path)
  const other = await api.signUp()
  const otherForm = await api.create('/forms', other.key, aForm)
  const { text, headers } = await open('GET', `/f/${String(otherForm['id'])}`)
  expect(`${text} ${JSON.stringify(headers)}`).not.toMatch(/Engines|images\.example|7a1fa2/)
  await patch({ logoUrl: null, accentColor: null })
  const { text: plain } = await open('GET', ownPath ?? '')
  expect(plain).toContain('<div class="brand">Engines</div>')
  expect(plain).not.toMatch(/<img|7a1fa2/)
})

test('of the branding, only the accent color is in the JSON of a public form', async () => {
  const { id } = await api.create('/forms', workspace.key, aForm)
  const read = async () => {
    const { body, headers } = await api.call<{ accentColor: string }>('GET', `/public/forms/${String(id)}`)
    return { body, version: headers['etag'] }
  }
  const before = await read()
  await patch({ name: 'Engines', logoUrl: 'https://images.example.com/logo.png' })
  expect(await read()).toEqual(before)
  await patch({ accentColor: '#7a1fa2' })
  await expect.poll(read).toEqual({ body: { ...before.body, accentColor: '#7a1fa2' }, version: expect.any(String) })
})

test('a color that is too light for text is refused with its contrast', async () => {
  for (const [accentColor, contrast] of [
    ['#ffffff', 1],
    ['#ff0000', 3.99],
    ['#777777', 4.47],
  ]) {
    const { issues } = expectError(await patch({ accentColor }), 400)
    const message = `has a contrast of ${contrast}:1 with white, but text needs at least 4.5:1 (WCAG 2.2): choose a darker color`
    expect(issues).toEqual([{ path: 'accentColor', message }])
  }
  for (const accentColor of ['#000000', '#767676', '#0000FF']) {
    expect(await patch({ accentColor })).toMatchObject({
      status: 200,
      body: { accentColor: accentColor.toLowerCase() },
    })
  }
})

const seed = chooseSeed(20_261_123)

test(`in dark mode, the shade of every accepted color is readable (seed ${seed})`, () => {
  const channel = fc.integer({ min: 0, max: 255 })
  const property = fc.property(channel, channel, channel, (...channels) => {
    const color = `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`
    fc.pre(computeContrast(color, '#ffffff') >= minTextContrast)
    const shade = mixWithWhite(color, whiteShareInDarkMode)
    expect(computeContrast(shade, '#18191b')).toBeGreaterThanOrEqual(minTextContrast)
  })
  fc.assert(property, {
    seed,
    numRuns: countRuns({ gate: 100, full: 10_000 }),
    examples: [
      [0, 0, 0],
      [0, 0, 255],
      [255, 0, 0],
    ].map((color) => color as [number, number, number]),
  })
})

test('a change of the branding is in the audit log', async () => {
  await patch({ logoUrl: 'https://images.example.com/logo.png', accentColor: '#7a1fa2' })
  const { body } = await api.call<{ data: { action: string; details: object }[] }>('GET', '/audit-log', {
    key: workspace.token,
  })
  expect(body.data.find(({ action }) => action === 'workspace.changed')?.details).toMatchObject({
    logoUrl: 'https://images.example.com/logo.png',
    accentColor: '#7a1fa2',
  })
})
