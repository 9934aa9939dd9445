import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Suppression } from '@rapport/core/suppressions/suppressions.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const member = useForFile(() => api.join(workspace, 'MEMBER'))
const viewer = useForFile(() => api.join(workspace, 'VIEWER'))

const suppress = (body: unknown) => api.call<Suppression>('POST', '/suppressions', { key: workspace.key, body })
const lift = (id: string, body: unknown, key = workspace.key) =>
  api.call('DELETE', `/suppressions/${id}`, { key, body })

test('POST /suppressions, GET /suppressions/{id}: 201, then 200, said again', async () => {
  const contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  const created = await suppress({ email: contact.email.toUpperCase(), reason: 'MANUAL', note: ' a\nb ' })
  const { id } = created.body
  expect(created).toMatchObject({ status: 201, headers: { location: `/suppressions/${id}` } })
  expect(created.body).toEqual({
    id: anId('sup'),
    contactId: contact.id,
    listId: null,
    reason: 'MANUAL',
    source: 'API',
    note: 'a\nb',
    firstSaidAt: aTimestamp,
    saidAt: aTimestamp,
    createdAt: aTimestamp,
  })
  const known = await suppress({ email: contact.email, reason: 'MANUAL' })
  expect(known).toMatchObject({ status: 200, body: { id, reason: 'MANUAL', note: 'a\nb' } })
  expect((await api.call('GET', `/suppressions/${id}`, { key: workspace.key })).body).toEqual(known.body)
})

test.each<[string, unknown]>([
  ['email', 'not an address'],
  ['email', 'a@example.com\nb@example.com'],
  ['email', null],
  ['reason', 'COMPLAINED'],
  ['reason', undefined],
  ['note', 'a\u0000b'],
  ['note', 'x'.repeat(1_001)],
  ['contactId', 'con_01kag7m3v9e8fs2t4w6x8y0z1b'],
])('rejects a suppression with the %s %j', async (field, value) => {
  const { issues } = expectError(await suppress({ email: freshEmail(), reason: 'MANUAL', [field]: value }), 400)
  expect(issues?.[0]?.path).toBe(field)
})

test('DELETE /suppressions/{id}: an admin lifts a block with a note, once', async () => {
  const { id } = (await suppress({ email: freshEmail(), reason: 'MANUAL' })).body
  expectError(await lift(id, { note: 'wrong' }, member.token), 403)
  expectError(await lift(id, {}), 400)
  expect(await lift(id, { note: 'wrong' })).toMatchObject({ status: 204, text: '' })
  expectError(await lift(id, { note: 'wrong' }), 404)
  const optedOut = (await suppress({ email: freshEmail(), reason: 'OPTED_OUT' })).body
  expect(expectError(await lift(optedOut.id, { note: 'wrong' }), 409)).toMatchObject({ code: 'opted_out' })
})

test('a search for an address needs the role MEMBER', async () => {
  const email = freshEmail()
  const { id } = (await suppress({ email, reason: 'BOUNCED' })).body
  const find = (key: string) => api.call<{ data: object[] }>('GET', `/suppressions?email=${email}`, { key })
  expectError(await find(viewer.token), 403)
  expect((await find(member.token)).body.data).toMatchObject([{ id }])
  expectError(await api.call('GET', '/suppressions?email=nonsense', { key: workspace.key }), 400)
})

const invite = (email: string) =>
  api.call<{ id: string }>('POST', '/invites', { key: workspace.token, body: { email, role: 'VIEWER' } })

test('an opt-out refuses a test email, and no invite, as that is no newsletter', async () => {
  const email = freshEmail()
  await suppress({ email, reason: 'OPTED_OUT' })
  const list = await api.create('/lists', workspace.key, { name: 'News' })
  const { id } = await api.create<{ id: string }>('/campaigns', workspace.key, {
    name: 'a',
    subject: 'b',
    listId: list['id'],
  })
  const tested = await api.call('POST', `/campaigns/${id}/send-test`, { key: workspace.key, body: { email } })
  expect(expectError(tested, 409)).toMatchObject({ code: 'opted_out' })
  expect(await invite(email)).toMatchObject({ status: 201 })
})

test.each(['BOUNCED', 'MANUAL'])('an address that is %s gets no invite, and no new link of one', async (reason) => {
  const [unknown, invited] = [freshEmail(), freshEmail()]
  const { id } = (await invite(invited)).body
  for (const email of [unknown, invited]) await suppress({ email, reason })
  const resent = await api.call('POST', `/invites/${id}/resend`, { key: workspace.token })
  for (const response of [await invite(unknown), resent])
    expect(expectError(response, 409)).toMatchObject({ code: 'opted_out', reason })
})

test('an opt-out of one list refuses test emails of that list, and of no other', async () => {
  const email = freshEmail()
  const [list, other] = [
    await api.create('/lists', workspace.key, { name: 'A' }),
    await api.create('/lists', workspace.key, { name: 'B' }),
  ]
  await suppress({ email, reason: 'OPTED_OUT', listId: list['id'] })
  const sendTest = async (listId: unknown) => {
    const campaign = await api.create('/campaigns', workspace.key, { name: 'a', subject: 'b', listId })
    return api.call('POST', `/campaigns/${String(campaign['id'])}/send-test`, { key: workspace.key, body: { email } })
  }
  expect(expectError(await sendTest(list['id']), 409)).toMatchObject({ code: 'opted_out' })
  expect((await sendTest(other['id'])).status).toBe(202)
})
