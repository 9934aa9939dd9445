import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const member = useForFile(() => api.join(workspace, 'MEMBER'))

test('POST and DELETE /contacts/{id}/opt-out: a member records it, an admin undoes it', async () => {
  const { id } = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  const list = await api.create('/lists', workspace.key, { name: 'News' })
  await api.create(`/lists/${String(list['id'])}/subscribers`, workspace.key, { contactId: id, status: 'CONFIRMED' })
  const call = (method: 'POST' | 'DELETE', key: string, body?: unknown) =>
    api.call<Contact>(method, `/contacts/${id}/opt-out`, { key, ...(body !== undefined && { body }) })
  const recorded = await call('POST', member.token, { note: 'called' })
  expect(recorded).toMatchObject({ status: 200, body: { id, emailSubscribedStatus: 'UNSUBSCRIBED' } })
  const repeated = await call('POST', member.token)
  const { lastActivityAt, updatedAt } = repeated.body
  expect(repeated.body).toEqual({ ...recorded.body, lastActivityAt, updatedAt })
  expectError(await call('DELETE', member.token), 403)
  expect(await call('DELETE', workspace.token)).toMatchObject({
    status: 200,
    body: { emailSubscribedStatus: 'SUBSCRIBED' },
  })
  expect(expectError(await call('DELETE', workspace.token), 409)).toMatchObject({ code: 'wrong_state' })
  for (const body of [
    { listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b' },
    { listId: 1 },
    { note: 'a\u0001' },
    { list: 1 },
    [1],
  ])
    expectError(await call('POST', member.token, body), 400)
})
