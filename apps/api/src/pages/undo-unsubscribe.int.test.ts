import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let contact: Contact
let confirmPath: string
let leavePath: string
beforeEach(async () => {
  const list = await api.create<List>('/lists', workspace.key, { name: 'A & B' })
  contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: contact.email } })
  const link = { listId: list.id, contactId: contact.id, email: contact.email, issuedAt: timestampNow() }
  const ctx = api.ctx(workspace.id)
  confirmPath = confirmationUrl(ctx, link).replace('https://crm.example.com', '')
  leavePath = unsubscribeUrl(ctx, link).replace('https://crm.example.com', '')
})

const browser = { accept: 'text/html' }
const post = (path: string) => api.call('POST', path, { headers: browser })
const readStatus = async () =>
  (await api.call<Contact>('GET', `/contacts/${contact.id}`, { key: workspace.key })).body.emailSubscribedStatus
/** The address that the button or link of a page leads to, as a browser resolves it. */
const follow = (page: { text: string }, attribute: 'action' | 'href', from: string) => {
  const target = new RegExp(`${attribute}="([^"]*)"`).exec(page.text)?.[1]
  return target === undefined ? undefined : new URL(target, `https://crm.example.com${from}`).href.slice(23)
}

test('POST /public/subscriptions/undo-unsubscribe: offered once, after unsubscribing', async () => {
  await post(confirmPath)
  const left = await post(leavePath)
  expect([left.status, left.text]).toEqual([200, expect.stringContaining('You are unsubscribed')])
  const undoPath = follow(left, 'action', leavePath) ?? ''
  expect(undoPath).toMatch(/^\/public\/subscriptions\/undo-unsubscribe\?token=[\w.-]+$/)
  expect(follow(await api.call('GET', leavePath), 'action', leavePath)).toBeUndefined()
  for (let times = 0; times < 2; times++) {
    const undone = await post(undoPath)
    expect([undone.status, undone.text]).toEqual([200, expect.stringContaining('You are subscribed again')])
    expect(undone.text).toContain('“A &amp; B”')
    expect(await readStatus()).toBe('SUBSCRIBED')
  }
  await post(leavePath)
  expect(follow(await post(leavePath), 'action', leavePath)).toBeUndefined()
  expect(await post(undoPath)).toMatchObject({ status: 400 })
})

test('the pages after confirming and after undoing link to the unsubscribe page', async () => {
  const confirmed = await post(confirmPath)
  const linked = follow(confirmed, 'href', confirmPath) ?? ''
  expect((await api.call('GET', linked, { headers: browser })).text).toContain('Click the button to stop receiving')
  expect(await readStatus()).toBe('SUBSCRIBED')
  const undoPath = follow(await post(linked), 'action', linked) ?? ''
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  const again = follow(await post(undoPath), 'href', undoPath) ?? ''
  expect(await post(again)).toMatchObject({ status: 200 })
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  // A confirmation link from before the opt-out does not undo it.
  expect(await post(confirmPath)).toMatchObject({ status: 400 })
})

test('a token that does not undo anything gets a 400 and changes nothing', async () => {
  await post(confirmPath)
  const undoPath = follow(await post(leavePath), 'action', leavePath) ?? ''
  const [path, token = ''] = undoPath.split('?token=')
  const leaveToken = leavePath.split('?token=')[1]
  for (const wrong of ['', 'x', `${token}x`, token.slice(1), leaveToken, `${token}&token=${token}`, 'a'.repeat(601)]) {
    const page = await post(`${path}?token=${wrong}`)
    expect([wrong, page.status, page.text]).toEqual([wrong, 400, expect.stringContaining('within ten minutes')])
    expectError(await api.call('POST', `${path}?token=${wrong}`), 400)
  }
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  expectError(await api.call('GET', undoPath), 405)
})
