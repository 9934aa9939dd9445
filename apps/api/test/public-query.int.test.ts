/** Links that visitors follow get parameters from other programs: mail tools, social networks, caches. */
import { createTracking } from '@rapport/core/campaigns/tracking.ts'
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { createTestCampaign } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { aForm } from './isolation-cases.ts'
import { freshEmail, type Operation, operationsOf, startTestApi } from './testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'
import { trackHtml } from '@rapport/core/rendering/track-html.ts'

const api = useForFile(() => startTestApi())
let operations: Operation[]
/** Existing records and valid tokens, by the path of the operation. */
let paths: Record<string, string>
beforeAll(async () => {
  operations = (await operationsOf(api)).filter(({ isPublic }) => isPublic)
  paths = await findValidPaths()
})

async function findValidPaths(): Promise<Record<string, string>> {
  const workspace = await api.signUp()
  const ctx = api.ctx(workspace.id)
  const form = String((await api.create('/forms', workspace.key, aForm))['id'])
  const list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  const contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: contact.email } })
  const link = { listId: list.id, contactId: contact.id, email: contact.email, issuedAt: timestampNow() }
  const recipient = { campaignId: newId('cmp'), contactId: contact.id }
  const tracked = trackHtml(
    '<a href="https://example.com/">x</a>',
    createTracking(ctx, { recipient, opens: 'PERSON', clicks: 'PERSON' }),
  )
  const verify = await api.tokenMailedTo(workspace.email)
  await api.call('POST', '/auth/forgot-password', { body: { email: workspace.email } })
  const reset = await api.tokenMailedTo(workspace.email)
  const invited = freshEmail()
  await api.create('/invites', workspace.token, { email: invited, role: 'MEMBER' })
  const urls = [
    ...(tracked.match(/https:[^"]+/g) ?? []),
    confirmationUrl(ctx, link),
    unsubscribeUrl(ctx, link),
    preferencesUrl(ctx, link),
    `/verify-email?token=${verify}`,
    `/reset-password?token=${reset}`,
    `/accept-invite?token=${await api.tokenMailedTo(invited)}`,
  ]
  const withTokens = urls
    .map((url) => url.replace('https://crm.example.com', ''))
    .map((url) => [url.split('?')[0], url])
  const { id: campaign } = await createTestCampaign(ctx, { listId: list.id, html: '<p>Hi</p>' })
  const idOfPath = (path: string) =>
    path.startsWith('/public/lists/') ? list.id : path.startsWith('/public/campaigns/') ? campaign : form
  const withIds = operations.map(({ template }) => [template, template.replace('{id}', idOfPath(template))])
  return Object.fromEntries([...withIds, ...withTokens]) as Record<string, string>
}

const added = [
  'utm_source=x&fbclid=y&v=2',
  'v=1&v=2&v=3&utm_source[]=a&utm_source[b]=c',
  '__proto__=1&constructor=2&=3&&x=%ff',
  Array.from({ length: 300 }, (_, index) => `x${index}=1`).join('&'),
]

const submit = async ({ method, takesForm, example }: Operation, path: string) => {
  const aForm = { raw: 'password=', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  return (await api.call(method, path, takesForm ? aForm : { body: example })).status
}

test('every public operation ignores query parameters that it does not know', async () => {
  const statuses: number[] = []
  for (const operation of operations) {
    for (const path of [operation.path, paths[operation.template] ?? operation.path]) {
      const status = await submit(operation, path)
      statuses.push(status)
      for (const query of added) {
        const more = `${path}${path.includes('?') ? '&' : '?'}${query}`
        expect([operation.method, more, await submit(operation, more)]).toEqual([operation.method, more, status])
      }
    }
  }
  expect(operations.length).toBeGreaterThan(15)
  expect(statuses.filter((status) => status < 400).length).toBeGreaterThan(operations.length / 2)
})

test('a public operation still checks the parameters that it knows', async () => {
  const withToken = operations.filter(({ query }) => query.includes('token'))
  expect(withToken.length).toBeGreaterThan(8)
  for (const operation of withToken) {
    const [path = ''] = (paths[operation.template] ?? operation.path).split('?')
    for (const query of ['utm_source=x', 'token=a&token=b', 'token[]=a', `token=${'x'.repeat(12_001)}`]) {
      const called = `${path}?${query}`
      expect([operation.method, called, await submit(operation, called)]).toEqual([operation.method, called, 400])
    }
  }
})
