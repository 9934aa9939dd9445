/** Public URLs of a deleted workspace: forms and links in emails. */
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { createTracking } from '@rapport/core/campaigns/tracking.ts'
import { addSubscribers, createTestCampaign } from '@rapport/testing/fixtures/factories.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aForm } from '../../test/isolation-cases.ts'
import { readEverything } from '../../test/isolation-workspace.ts'
import { freshEmail, startTestApi } from '../../test/testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'
import { trackHtml } from '@rapport/core/rendering/track-html.ts'

const api = useForFile(() => startTestApi())

/** Returns requests, each with its status before and after the workspace is deleted. */
async function prepare() {
  const workspace = await api.signUp()
  const ctx = api.ctx(workspace.id)
  const form = String((await api.create('/forms', workspace.key, aForm))['id'])
  const list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  const contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: contact.email } })
  await addSubscribers(ctx, list.id, { count: 1 })
  const campaign = await createTestCampaign(ctx, { listId: list.id, trackOpens: true, trackClicks: true })
  await api.call('POST', `/campaigns/${campaign.id}/send`, { key: workspace.key })
  await api.query(
    `insert into campaign_recipients (workspace_id, campaign_id, contact_id, batch_id, status)
     select b.workspace_id, b.campaign_id, c.id, b.id, 'SENT'
     from campaign_batches b join contacts c on c.workspace_id = b.workspace_id and c.email = $1`,
    [contact.email],
  )
  const recipient = { campaignId: campaign.id, contactId: contact.id }
  const tracking = createTracking(ctx, { recipient, opens: 'PERSON', clicks: 'PERSON' })
  const html = trackHtml('<a href="https://example.com/">x</a>', tracking)
  const [click = '', pixel = ''] = html.match(/(?<=https:\/\/crm\.example\.com)\/public\/[^"]+/g) ?? []
  const pathOf = (url: string) => url.replace('https://crm.example.com', '')
  const link = { listId: list.id, contactId: contact.id, email: contact.email, issuedAt: timestampNow() }
  const requests: [string, string, unknown, number, number][] = [
    ['GET', `/f/${form}`, undefined, 200, 404],
    ['GET', `/f/${form}/thanks`, undefined, 200, 404],
    ['POST', `/public/forms/${form}/submit`, { values: { email: freshEmail() } }, 201, 404],
    ['POST', `/public/lists/${list.id}/subscribe`, { email: freshEmail() }, 202, 404],
    ['POST', pathOf(confirmationUrl(ctx, link)), undefined, 200, 400],
    ['GET', pixel, undefined, 200, 200],
    ['GET', click, undefined, 302, 302],
    ['POST', pathOf(unsubscribeUrl(ctx, link)), undefined, 200, 200],
  ]
  return { workspace, requests }
}

test('a deleted workspace accepts and records nothing; tracked links still redirect', async () => {
  const [live, deleted] = [await prepare(), await prepare()]
  const { token } = deleted.workspace
  const { body } = await api.call('GET', '/workspace', { key: token })
  await api.call('DELETE', '/workspace', { key: token, body: { name: body['name'] } })
  for (const [which, { workspace, requests }] of Object.entries({ live, deleted })) {
    for (const [method, path, body, whileLive, whenDeleted] of requests) {
      const before = await readEverything(api, workspace.id)
      const { status } = await api.call(method, path, { ...(body !== undefined && { body }) })
      expect([which, path, status]).toEqual([which, path, which === 'live' ? whileLive : whenDeleted])
      const isChanged = JSON.stringify(await readEverything(api, workspace.id)) !== JSON.stringify(before)
      expect([which, path, isChanged]).toEqual([which, path, which === 'live' && !path.startsWith('/f/')])
    }
  }
})
