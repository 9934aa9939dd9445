import { expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { newId } from '../kernel/ids.ts'
import { deriveKeys, encryptPayload } from '../kernel/crypto.ts'
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { confirmationUrl, openConfirmation, openUnsubscribe, unsubscribeUrl } from './subscription-links.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const ctx: Ctx = {
  db: undefined as never,
  settings: testSettings,
  workspaceId: newId('wsp'),
  actor: { kind: 'public' },
  requestId: '',
}
const link = { listId: newId('lst'), contactId: newId('con') }
const email = 'ada@example.com'
const issuedAt = timestampAt('2026-11-21T06:35:49.123Z')
const week = 7 * 24 * 60 * 60 * 1000
const tokenOf = (url: string) => new URL(url).searchParams.get('token') ?? ''
const confirmToken = tokenOf(confirmationUrl(ctx, { ...link, email, issuedAt }))
const unsubscribeToken = tokenOf(unsubscribeUrl(ctx, { ...link, email }))
const invalid = { code: 'invalid_token', message: 'Invalid or expired link' }

test('a confirmation link contains its subscription, time and sealed email', () => {
  const opened = openConfirmation(ctx, confirmToken, Date.parse(issuedAt))
  expect(opened).toEqual({
    workspaceId: ctx.workspaceId,
    ...link,
    issuedAt,
    email,
    tracking: [],
  })
  expect(Buffer.from(confirmToken, 'base64url').toString('latin1')).not.toContain(email)
  expect(openUnsubscribe(ctx, unsubscribeToken)).toEqual({ workspaceId: ctx.workspaceId, ...link, email })
})

test('an unsubscribe link contains its email, and may contain its campaign', () => {
  const campaignId = newId('cmp')
  const { token, ...sealed } = { token: tokenOf(unsubscribeUrl(ctx, { ...link, email, campaignId })), ...link, email }
  expect(openUnsubscribe(ctx, token)).toEqual({ workspaceId: ctx.workspaceId, ...sealed, campaignId })
  expect(Buffer.from(token, 'base64url').toString('latin1')).not.toContain(email)
})

test('the same input returns the same link', () => {
  expect(tokenOf(confirmationUrl(ctx, { ...link, email, issuedAt }))).toBe(confirmToken)
})

test('a confirmation link expires after seven days', () => {
  openConfirmation(ctx, confirmToken, Date.parse(issuedAt) + week)
  expect(() => openConfirmation(ctx, confirmToken, Date.parse(issuedAt) + week + 1)).toThrow(
    expect.objectContaining(invalid),
  )
})

test('a link opens only for its own purpose', () => {
  expect(() => openConfirmation(ctx, unsubscribeToken)).toThrow(expect.objectContaining(invalid))
  expect(() => openUnsubscribe(ctx, confirmToken)).toThrow(expect.objectContaining(invalid))
})

test('rejects a link of another installation and a cursor', () => {
  const otherCtx = { ...ctx, settings: { ...testSettings, keys: deriveKeys('the secret of another installation') } }
  expect(() => openUnsubscribe(otherCtx, unsubscribeToken)).toThrow(expect.objectContaining(invalid))
  const cursor = encryptPayload(testSettings.keys.cursors, 'unsubscribe', ['a', 'b', 'c'])
  expect(() => openUnsubscribe(ctx, cursor)).toThrow(expect.objectContaining(invalid))
})

test('rejects a link with any character changed, removed or added', () => {
  const wrong = unsubscribeToken
    .split('')
    .flatMap((character, at) => [
      unsubscribeToken.slice(0, at) + (character === 'A' ? 'B' : 'A') + unsubscribeToken.slice(at + 1),
      unsubscribeToken.slice(0, at),
      `${unsubscribeToken.slice(0, at)}.${unsubscribeToken.slice(at)}`,
    ])
  const more = [`${unsubscribeToken}A`, `${unsubscribeToken}.`, '', '.', '..', 'null', '\u0000', '💥.💥']
  for (const token of [...wrong, ...more]) {
    expect(() => openUnsubscribe(ctx, token)).toThrow(expect.objectContaining(invalid))
  }
})
