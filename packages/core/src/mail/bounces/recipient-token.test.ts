import { expect, test } from 'vitest'
import { deriveKeys } from '../../kernel/crypto.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import { createRecipientToken, findToken, openRecipientToken, toReturnPath } from './recipient-token.ts'

const keys = deriveKeys('a secret that is known to every test')
const workspaceId = newId('wsp')
const subject = { campaignId: newId('cmp'), contactId: newId('con') }
const create = (email = 'Ada@Example.com') => createRecipientToken(keys, { workspaceId, subject, email })
const open = (token: string | undefined) => openRecipientToken(keys, token ?? '')

test('a token names the workspace, the campaign, the contact and the address', () => {
  const opened = open(create())
  expect(opened?.subject).toEqual({
    contactId: subject.contactId,
    campaignSuffix: uuidOf(subject.campaignId).slice(-6),
  })
  expect(opened?.isOfWorkspace(workspaceId)).toBe(true)
  expect(opened?.isOfWorkspace(newId('wsp'))).toBe(false)
  expect(opened?.isAddress('ada@example.com')).toBe(true)
  expect(opened?.isAddress('eve@example.com')).toBe(false)
  expect(opened && opened.workspaces.first <= workspaceId && workspaceId <= opened.workspaces.last).toBe(true)
})

test('a token of a single mail names the mail', () => {
  const mailId = newId('mai')
  const opened = open(createRecipientToken(keys, { workspaceId, subject: { mailId }, email: 'ada@example.com' }))
  expect(opened?.subject).toEqual({ mailId })
  expect(opened?.isAddress('ADA@example.com')).toBe(true)
})

test('a return path fits a local part and survives a server that changes its case', () => {
  const localPart = toReturnPath(create())
  expect(localPart).toMatch(/^b\+[a-z0-9]{62}$/)
  expect(open(findToken(localPart.toUpperCase()))?.subject).toMatchObject({ contactId: subject.contactId })
})

test('a token stays valid under a former key, for its address too', () => {
  const changed = deriveKeys('the current secret of this installation', ['a secret that is known to every test'])
  expect(openRecipientToken(changed, create())?.isAddress('ada@example.com')).toBe(true)
  expect(openRecipientToken(deriveKeys('the secret of another installation'), create())).toBeUndefined()
})

test('a token is invalid after any change, truncation or addition', () => {
  const token = create()
  const changed = token
    .split('')
    .flatMap((_digit, at) => ['0', 'v', 'c', 'm'].map((other) => token.slice(0, at) + other + token.slice(at + 1)))
    .filter((text) => text !== token)
  const wrong = ['', 'c', 'b+', token.slice(1), token.slice(0, -1), `${token}0`, `c${token}`, `c${'v'.repeat(61)}`]
  const more = [
    `c${'é'.repeat(61)}`,
    `c${' '.repeat(61)}`,
    `c-${token.slice(2)}`,
    'c'.repeat(1_000_000),
    token.toUpperCase(),
  ]
  expect([...changed, ...wrong, ...more].filter((text) => open(text))).toEqual([])
})

test.each(['a', 'b', 'b@x', 'bb+x', 'a+x', ' b+x', 'postmaster'])('a local part without a token: %s', (localPart) => {
  expect(findToken(localPart)).toBeUndefined()
})
