/**
 * Requests with a valid token of an email count for the address together with the token. A token that all recipients
 * share has a higher limit.
 */
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { createTracking } from '@rapport/core/campaigns/tracking.ts'
import { webVersionUrl } from '@rapport/core/campaigns/web-version.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { confirmationUrl, undoToken, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { trackingConfirmationUrl } from '@rapport/core/consent/tracking/tracking-links.ts'
import { addSubscribers, createTestCampaign, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { countStatuses, freshAddress, startTestApi } from '../../../test/testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'
import { trackHtml } from '@rapport/core/rendering/track-html.ts'

const api = useForFile(() => startTestApi())
let ctx: Ctx
beforeAll(async () => {
  ctx = api.ctx((await api.signUp()).id)
})

const browser = { accept: 'text/html', 'accept-language': 'de' }
const pathOf = (url: string) => url.replace('https://crm.example.com', '')
const oneClick = (path: string, from: string) =>
  api.call('POST', path, {
    from,
    raw: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

test('130 people leave by one click from one address', async () => {
  const { id: listId } = await createTestList(ctx)
  const people = await addSubscribers(ctx, listId, { count: 130 })
  const paths = people.map((contactId, index) =>
    pathOf(unsubscribeUrl(ctx, { listId, contactId, email: `person-${index + 1}@example.com` })),
  )
  const from = freshAddress()
  expect(countStatuses(await Promise.all(paths.map((path) => oneClick(path, from))))).toEqual({ 200: 130 })
  const left = await api.query(`select count(*)::int from subscriptions where status = 'UNSUBSCRIBED'`)
  expect(left).toEqual([{ count: 130 }])
})

test('105 bad tokens from one address share its limit', async () => {
  const from = freshAddress()
  const bad = Array.from({ length: 105 }, (_, index) => oneClick(`/public/unsubscribe?token=bad${index}.x`, from))
  expect(countStatuses(await Promise.all(bad))).toEqual({ 400: 100, 429: 5 })
})

test('130 people read an anonymous email from one address, and 1,001 are too many', async () => {
  const { id: listId } = await createTestList(ctx)
  const [contactId = newId('con')] = await addSubscribers(ctx, listId, { count: 1, name: 'reader' })
  const url = 'https://example.com/offer'
  const html = `<a href="${url}">Offer</a>`
  const { id } = await createTestCampaign(ctx, { listId, html, trackOpens: true, trackClicks: true })
  await sendCampaign(ctx, id)
  const recipient = { campaignId: id, contactId }
  const tracking = createTracking(ctx, { recipient, opens: 'ANONYMOUS', clicks: 'ANONYMOUS' })
  const [click = '', open = ''] = trackHtml(html, tracking, new Set([url])).match(/https:\/\/crm[^"]+/g) ?? []
  const from = freshAddress()
  const get = async (method: string, target: string, times: number) =>
    countStatuses(await Promise.all(Array.from({ length: times }, () => api.call(method, pathOf(target), { from }))))
  expect(await get('HEAD', click, 130)).toEqual({ 302: 130 })
  expect(await get('GET', click, 130)).toEqual({ 302: 130 })
  expect(await get('GET', open, 130)).toEqual({ 200: 130 })
  expect(await get('GET', webVersionUrl(ctx, id), 130)).toEqual({ 200: 130 })
  const counted = await readStats(ctx, id)
  expect(counted).toMatchObject({ opened: 0, clicked: 0, anonymousOpens: 130, anonymousClicks: 130 })
  expect((await api.call('GET', pathOf(click), { from: freshAddress() })).status).toBe(302)
  expect(await readStats(ctx, id)).toMatchObject({ anonymousClicks: 131 })
  expect(await get('HEAD', open, 1_001 - 130)).toEqual({ 200: 870, 429: 1 })
  const bad = (path: string) => api.call('GET', `${path.split('?')[0]}?token=x`, { from })
  for (const path of [click, open, webVersionUrl(ctx, id)].map(pathOf)) {
    const responses = await Promise.all(Array.from({ length: 101 }, () => bad(path)))
    expect(countStatuses(responses)).toEqual({ 400: 100, 429: 1 })
  }
})

const link = () => ({ listId: newId('lst'), contactId: newId('con'), email: 'ada@example.com' })

const times = countRuns({ gate: 150, full: 1_000 })

test(`one token ${times} times is limited, in all of its spellings`, async () => {
  const from = freshAddress()
  const path = pathOf(unsubscribeUrl(ctx, link()))
  // Mail programs wrap links, and put punctuation behind them.
  const spellings = [path, `${path}.`, `${path.slice(0, 60)}=%0D%0A${path.slice(60)}`, `${path}&x=1`, `${path}%20`]
  const calls = Array.from({ length: times }, (_, index) => oneClick(spellings[index % spellings.length] ?? '', from))
  expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 100, 429: times - 100 })
  expect((await oneClick(path, freshAddress())).status).toBe(200)
})

/** The links of an email to one person: method and URL. */
function linksOf(): [string, string][] {
  const one = link()
  const recipient = { campaignId: newId('cmp'), contactId: one.contactId }
  const tracking = createTracking(ctx, { recipient, opens: 'PERSON', clicks: 'PERSON' })
  const [click = '', open = ''] =
    trackHtml('<a href="https://example.com">x</a>', tracking).match(/https:\/\/crm[^"]+/g) ?? []
  const now = timestampNow()
  const undo = undoToken(ctx, { ...one, saidAt: now })
  return [
    ['GET', unsubscribeUrl(ctx, one)],
    ['POST', unsubscribeUrl(ctx, one)],
    ['GET', confirmationUrl(ctx, { ...one, issuedAt: now })],
    ['POST', confirmationUrl(ctx, { ...one, issuedAt: now })],
    ['POST', `/public/subscriptions/undo-unsubscribe?token=${undo}`],
    ['GET', preferencesUrl(ctx, one)],
    ['POST', preferencesUrl(ctx, one)],
    ['GET', trackingConfirmationUrl(ctx, { ...one, issuedAt: now, scope: ['opens'] })],
    ['POST', trackingConfirmationUrl(ctx, { ...one, issuedAt: now, scope: ['opens'] })],
    ['GET', open],
    ['GET', click],
  ]
}

test('each link in an email counts by person, and a bad token for the address', async () => {
  const from = freshAddress()
  for (const [index, [method, url]] of linksOf().entries()) {
    const remaining = async (path: string) => {
      const response = await api.call(method, pathOf(path), { from })
      return [method, path.split('?')[0], response.headers['x-ratelimit-remaining']]
    }
    const [path] = url.split('?')
    expect(await remaining(url)).toEqual([method, path, '99'])
    expect(await remaining(url)).toEqual([method, path, '98'])
    expect(await remaining(linksOf()[index]?.[1] ?? '')).toEqual([method, path, '99'])
    expect(await remaining(`${path}?token=x`)).toEqual([method, path, '99'])
    expect(await remaining(`${path}?token=y&token=z`)).toEqual([method, path, '98'])
    // A token of another purpose is no token of this route.
    expect(await remaining(`${path}?token=${linksOf()[(index + 3) % 11]?.[1].split('=')[1]}`)).toEqual([
      method,
      path,
      '97',
    ])
  }
})

describe('a browser', () => {
  test('gets a page in its language for a 429, and a program the specified body', async () => {
    const [path, from] = [pathOf(unsubscribeUrl(ctx, link())), freshAddress()]
    for (let count = 0; count < 100; count++) await api.call('GET', path, { from })
    const page = await api.call('GET', path, { from, headers: browser })
    expect(page).toMatchObject({
      status: 429,
      headers: { 'content-type': 'text/html; charset=utf-8', 'retry-after': expect.stringMatching(/^\d+$/) as string },
    })
    expect(page.text).toContain('<html lang="de"')
    expect(page.text).toContain('Bitte versuchen Sie es in einer Minute noch einmal')
    const { text } = await api.call('GET', path, { from })
    expect(text).toBe('{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}')
  })

  test('gets a page for a 503', async () => {
    const url = api.database.url.replace(/:\d+\//, ':1/')
    const unreachable = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
    const apart = await startTestApi({ database: { ...unreachable, url } })
    const page = await apart.call('POST', pathOf(unsubscribeUrl(ctx, link())), { headers: browser })
    apart.takeLog()
    await apart.close()
    expect(page).toMatchObject({
      status: 503,
      headers: { 'content-type': 'text/html; charset=utf-8', 'retry-after': '1' },
    })
    expect(page.text).toContain('Das ist im Moment nicht möglich')
  })
})
