import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import type { TrackingConsent } from '@rapport/core/consent/tracking/tracking-consent.schema.ts'
import { readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { countStatuses, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let contact: Contact
let path: string
beforeEach(async () => {
  contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  const ctx = { ...api.ctx(workspace.id), actor: { kind: 'public' } as const }
  const token = new URL(preferencesUrl(ctx, { contactId: contact.id, email: contact.email })).searchParams.get('token')
  await api.call('POST', '/public/preferences', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    raw: `token=${token}&tracking=save&opens=allow&clicks=allow`,
  })
  path = `/public/tracking/confirm?token=${await readMailedToken(ctx, contact.email)}`
})

const html = { headers: { accept: 'text/html' } }
const call = (method: 'GET' | 'PUT', body?: unknown) =>
  api.call<TrackingConsent>(method, `/contacts/${contact.id}/tracking-consent`, {
    key: workspace.key,
    ...(body !== undefined && { body }),
  })

test('GET and POST /public/tracking/confirm: only the button grants', async () => {
  for (const method of ['GET', 'HEAD', 'GET']) expect((await api.call(method, path, html)).status).toBe(200)
  const page = await api.call('GET', path, html)
  expect(page.text).toContain('record when you open its emails and click links in them')
  expect(page.text).not.toContain(contact.email)
  expect((await call('GET')).body).toMatchObject({ opens: 'UNKNOWN', clicks: 'UNKNOWN', updatedAt: expect.any(String) })
  const posts = await Promise.all(Array.from({ length: 3 }, () => api.call('POST', path, html)))
  expect(countStatuses(posts)).toEqual({ 200: 3 })
  expect((await call('GET')).body).toMatchObject({ contactId: contact.id, opens: 'GRANTED', clicks: 'GRANTED' })
})

test('a link that is damaged or older than a denial changes nothing', async () => {
  expect((await call('PUT', { opens: 'DENIED', clicks: 'DENIED' })).body).toMatchObject({ opens: 'DENIED' })
  for (const wrong of [path, `${path}x`, '/public/tracking/confirm?token=x.y']) {
    const page = await api.call('POST', wrong, html)
    expect([page.status, page.text.includes('This link does not work')]).toEqual([400, true])
  }
  expectError(await api.call('POST', path), 400)
  expect((await call('GET')).body).toMatchObject({ opens: 'DENIED', clicks: 'DENIED' })
})

test('GET and PUT /contacts/{id}/tracking-consent: it denies, and never grants', async () => {
  expect(expectError(await call('PUT', { opens: 'GRANTED' }), 409)).toMatchObject({ code: 'consent_required' })
  for (const body of [{}, { opens: 'UNKNOWN' }, { opens: true }, { open: 'DENIED' }, { note: 'a' }, null])
    expectError(await call('PUT', body), 400)
  const denied = await call('PUT', { clicks: 'DENIED', note: 'called' })
  expect(denied).toMatchObject({ status: 200, body: { opens: 'UNKNOWN', clicks: 'DENIED' } })
  expect((await call('PUT', { clicks: 'DENIED' })).body).toEqual(denied.body)
  expect(denied.headers['etag']).toBe((await call('GET')).headers['etag'])
})
