import { newId } from '@rapport/core/kernel/ids.ts'
import { LinkToken } from '@rapport/core/kernel/validation.ts'
import { openUnsubscribe, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { expect, test } from 'vitest'
import { repairUrl } from './repair-url.ts'

const ctx: Ctx = {
  db: undefined as never,
  settings: testSettings,
  workspaceId: newId('wsp'),
  actor: { kind: 'public' },
  requestId: '',
}
const link = { listId: newId('lst'), contactId: newId('con'), email: 'ada@example.com' }

const breakAt = 40
/** What follows a line break that lost its line feed, if it cannot be told from an encoded sign. */
const ambiguous = /^(2D|2E|5F)/i

/** Several tokens: of some the signs that are replaced are at other places. */
const tokens = Array.from({ length: 20 }, (_, at) => {
  const url = unsubscribeUrl(ctx, { ...link, email: `ada${at}@example.com` })
  return new URL(url).searchParams.get('token') ?? ''
}).filter((token) => !ambiguous.test(token.slice(breakAt)))
const page = '/public/unsubscribe'
const broken = (token: string, by: string) => `${page}?token=${token.slice(0, breakAt)}${by}${token.slice(breakAt)}`

test.each<[string, (token: string) => string]>([
  ['a line break of quoted-printable that lost its line feed', (token) => broken(token, '=')],
  ['its equals sign encoded', (token) => broken(token, '%3D%0D%0A')],
  ['a soft hyphen', (token) => broken(token, '%C2%AD')],
  ['a zero-width space', (token) => broken(token, '%E2%80%8B')],
  ['hyphens as quoted-printable', (token) => `${page}?token=${token.replaceAll('-', '=2D').replaceAll('_', '=5F')}`],
  ['typographic hyphens', (token) => `${page}?token=${token.replaceAll('-', '%E2%80%91')}`],
  ['dashes of a word processor', (token) => `${page}?token=${token.replaceAll('--', '%E2%80%94')}`],
  ['two question marks', (token) => `${page}??token=${token}`],
  ['a full stop before the query', (token) => `${page}.?token=${token}`],
  ['a space before the query', (token) => `${page}%20?token=${token}`],
  ['a slash that is encoded', (token) => `${page}%2F?token=${token}`],
  ['signs that are encoded twice', (token) => `${page}%253Ftoken%253D${token}`],
  ['an entity of HTML', (token) => `${page}?amp;token=${token}`],
  ['other parameters before it', (token) => `${page}?utm_source=x&amp;token=${token}`],
  ['what follows it in HTML', (token) => `${page}?token=${token}%22%3EUnsubscribe`],
])('the link of an opt-out works with %s', (_name, damage) => {
  for (const token of tokens) {
    const url = new URL(repairUrl(damage(token)), 'http://crm.example')
    expect(url.pathname).toBe(page)
    expect(openUnsubscribe(ctx, LinkToken(1_000).parse(url.searchParams.get('token')))).toMatchObject({
      contactId: link.contactId,
    })
  }
})

test('other URLs stay as they are', () => {
  for (const url of ['/contacts?token[]=x', '/public/forms/x/?a=.', '/public/unsubscribers?token=x', '/'])
    expect(repairUrl(url)).toBe(url)
})
