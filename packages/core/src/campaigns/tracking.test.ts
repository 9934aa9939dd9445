import { describe, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { newId } from '../kernel/ids.ts'
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { noTracking, type TrackingLevels } from '../consent/tracking/tracking-level.ts'
import { trackHtml } from '../rendering/track-html.ts'
import { resolveTrackedLink, recordOpen, createTracking } from './tracking.ts'

const ctx = { settings: testSettings, workspaceId: newId('wsp') } as Ctx
const recipient = { campaignId: newId('cmp'), contactId: newId('con') }
const track = (html: string, levels: Partial<TrackingLevels> = { clicks: 'PERSON' }, shared?: ReadonlySet<string>) =>
  trackHtml(html, createTracking(ctx, { recipient, ...noTracking, ...levels }), shared)
const tokenIn = (html: string) => /\/public\/(?:click|open)\?token=([\w.-]+)/.exec(html)?.[1] ?? ''
const follow = (html: string) => resolveTrackedLink(ctx, tokenIn(html), { shouldRecord: false })

describe('a link', () => {
  test.each([
    ['<a href="https://example.com/a">', 'https://example.com/a'],
    ["<a class=x HREF = 'http://example.com/b?x=1&amp;y=2#z'>", 'http://example.com/b?x=1&y=2#z'],
    ['<a data-a=">" href="https://example.com/?q=%22&#38;r=&#x2f;">', 'https://example.com/?q=%22&r=/'],
    ['<area href=" https://example.com/ü ">', 'https://example.com/%C3%BC'],
    ['<a\nstyle="color:red"\nhref="https://EXAMPLE.com">', 'https://example.com/'],
    ['<a data-href="https://example.com/wrong" href="https://example.com/a">', 'https://example.com/a'],
    ["<a title='href=\"https://example.com/wrong\"' HREF='https://example.com/a'>", 'https://example.com/a'],
    ['<a title=href="https://example.com/wrong" href="https://example.com/a">', 'https://example.com/a'],
    ['<A\r\n\tclass=x\r\n\thref\n=\n"https://example.com/a">', 'https://example.com/a'],
    ['<a/href=https://example.com/a>', 'https://example.com/a'],
    ['<a target=_blank href=https://example.com/?a=1&amp;b=2>', 'https://example.com/?a=1&b=2'],
    ['<a title="it\'s < 5 > 3" href="https://example.com/a">', 'https://example.com/a'],
  ])('%s is tracked and leads to %s', async (html, url) => {
    const tracked = track(html)
    expect(tracked).toMatch(/href\s*=\s*["']https:\/\/crm\.example\.com\/public\/click\?token=[\w.-]+["']>$/i)
    expect(await follow(tracked)).toBe(url)
  })

  test.each([
    '<a title="https://example.com/wrong" href="">',
    '<a href="mailto:ada@example.com">',
    '<a href="tel:+4930">',
    '<a href="#top">',
    '<a href="/relative">',
    '<a href="//example.com">',
    '<a href="javascript:alert(1)">',
    '<a href="data:text/html,x">',
    '<a href="">',
    '<a name="x">',
    '<a href="https://">',
    '<a href="https://example.com/&eacute;">',
    `<a href="https://example.com/${'x'.repeat(2_048)}">`,
    '<a href="https://crm.example.com/public/unsubscribe?token=abc.def">',
    '<img src="https://example.com/x.png"><link href="https://example.com/x.css">',
    '<a data-href="https://example.com/" x:href="https://example.com/" title="href=https://example.com/">',
    '<!-- <a href="https://example.com/"> --><style>/*<a href="https://example.com/">*/</style>',
    '<abbr href="https://example.com/"><a href><a href="https://example.com/',
  ])('%s is not changed', (html) => {
    expect(track(html)).toBe(html)
  })

  test('of a repeated href, the first is tracked, and nothing else changes', () => {
    const html =
      '<P Class=x>\r\n&nbsp;<a  b  href="https://example.com/a" href="https://example.com/b"  >é</a  ><br/><a'
    const tracked = track(html)
    expect(tracked.replace(/https:\/\/crm[^"]*/, 'https://example.com/a')).toBe(html)
    expect(tracked).not.toBe(html)
  })

  test('with a forged or damaged token is rejected', async () => {
    const token = tokenIn(track('<a href="https://example.com/a">'))
    const [body = '', mac = ''] = token.split('.')
    const evil = JSON.parse(Buffer.from(body, 'base64url').toString()) as string[]
    evil[3] = 'https://evil.example'
    const forged = `${Buffer.from(JSON.stringify(evil)).toString('base64url')}.${mac}`
    const invalidTokens = [
      forged,
      body,
      `${body}.`,
      `x${token}`,
      `${token}x`,
      '',
      tokenIn(track('', { opens: 'PERSON' })),
    ]
    for (const invalidToken of invalidTokens) {
      await expect(resolveTrackedLink(ctx, invalidToken, { shouldRecord: false })).rejects.toMatchObject({
        code: 'invalid_token',
      })
    }
    await expect(recordOpen(ctx, token, { shouldRecord: true })).rejects.toMatchObject({ code: 'invalid_token' })
  })
})

test('the pixel is added once, at the end of the body, if opens are tracked', () => {
  const pixel = /<img src="https:\/\/crm\.example\.com\/public\/open\?token=[\w.-]+"[^>]*>/
  const tracked = track('<html><body><p>Hi</p></BODY></html>', { opens: 'PERSON' })
  expect(tracked).toMatch(new RegExp(`^<html><body><p>Hi</p>${pixel.source}</BODY></html>$`))
  expect(track('<body>İİİİ</body>', { opens: 'PERSON' })).toMatch(new RegExp(`^<body>İİİİ${pixel.source}</body>$`))
  expect(track('<p>Hi</p>', { opens: 'PERSON' })).toMatch(new RegExp(`^<p>Hi</p>${pixel.source}$`))
  expect(track('<p>Hi</p>')).toBe('<p>Hi</p>')
})
