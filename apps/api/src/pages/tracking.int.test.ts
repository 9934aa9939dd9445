import { createTracking } from '@rapport/core/campaigns/tracking.ts'
import type { Campaign } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { CampaignStats } from '@rapport/core/campaigns/campaign-stats.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { trackHtml } from '@rapport/core/rendering/track-html.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let campaign: Campaign
let pixel: string
let link: string
beforeEach(async () => {
  const list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  await api.create(`/lists/${list.id}/subscribers`, workspace.key, { email: freshEmail(), status: 'CONFIRMED' })
  const given = { name: 'a', subject: 'b', listId: list.id, trackOpens: true, trackClicks: true }
  campaign = await api.create<Campaign>('/campaigns', workspace.key, given)
  await api.call('POST', `/campaigns/${campaign.id}/send`, { key: workspace.key })
  // The state after a worker has sent the email.
  const [sent] = await api.query(
    `insert into campaign_recipients (workspace_id, campaign_id, contact_id, batch_id, status)
     select workspace_id, campaign_id, contact_ids[1], id, 'SENT' from campaign_batches
     where campaign_id = (select campaign_id from campaign_batches order by id desc limit 1) returning contact_id`,
  )
  const recipient = { campaignId: campaign.id, contactId: idOf('con', String(sent?.['contact_id'])) }
  const tracking = createTracking(api.ctx(workspace.id), { recipient, opens: 'PERSON', clicks: 'PERSON' })
  const html = trackHtml('<a href="https://example.com/?a=1&amp;b=%0d%0aX:y">x</a>', tracking)
  const paths = [...html.matchAll(/https:\/\/crm\.example\.com(\/public\/[^"]+)/g)].map(([, path = '']) => path)
  ;[link = '', pixel = ''] = paths
})

const readStats = async () =>
  (await api.call<CampaignStats>('GET', `/campaigns/${campaign.id}/stats`, { key: workspace.key })).body

test('the pixel is an uncached image, counts each recipient once, and not for HEAD', async () => {
  expect(await api.call('HEAD', pixel)).toMatchObject({ status: 200, headers: { 'content-type': 'image/gif' } })
  expect(await readStats()).toMatchObject({ opened: 0 })
  for (let time = 0; time < 3; time++) {
    const response = await api.call('GET', pixel)
    expect(response).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'image/gif',
        'cache-control': 'no-store, max-age=0, private',
        'referrer-policy': 'no-referrer',
      },
    })
  }
  expect(await readStats()).toMatchObject({ opened: 1, clicked: 0 })
})

test('a link redirects and counts each recipient once; HEAD does not count', async () => {
  expect(await api.call('HEAD', link)).toMatchObject({ status: 302 })
  expect(await readStats()).toMatchObject({ clicked: 0 })
  for (let time = 0; time < 3; time++) {
    const response = await api.call('GET', link)
    expect([response.status, response.text]).toEqual([302, ''])
    expect(response.headers).toMatchObject({
      location: 'https://example.com/?a=1&b=%0d%0aX:y',
      'cache-control': 'no-store, max-age=0, private',
    })
  }
  expect(await readStats()).toMatchObject({ opened: 0, clicked: 1 })
})

test('GET /public/click and GET /public/open: an invalid token does nothing', async () => {
  const before = await readStats()
  const token = link.split('token=')[1] ?? ''
  for (const wrong of [
    `${token}x`,
    token.slice(1),
    'x.y',
    '',
    'https://evil.example',
    pixel.split('token=')[1] ?? '',
  ]) {
    const page = await api.call('GET', `/public/click?token=${encodeURIComponent(wrong)}`, {
      headers: { accept: 'text/html' },
    })
    expect([page.status, page.headers['location'], page.text]).toEqual([
      400,
      undefined,
      expect.stringContaining('does not work'),
    ])
  }
  expectError(await api.call('GET', `/public/open?token=${token}`), 400)
  expect(await readStats()).toEqual(before)
})
