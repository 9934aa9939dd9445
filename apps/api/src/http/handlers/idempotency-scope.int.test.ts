/** Which requests may get a stored response, which can contain a secret that is shown only once. */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { CreatedApiKey, Me } from '@rapport/core/auth/auth.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

interface Post {
  path?: string
  body?: unknown
  credential?: string
}
/** POSTs with this Idempotency-Key. Default: to `/contacts`. */
function post<Body>(key: string, { path = '/contacts', body, credential = workspace.key }: Post) {
  return api.call<Body>('POST', path, { key: credential, headers: { 'idempotency-key': key }, body })
}

test('a secret is replayed only to the API key or user that sent the request', async () => {
  const [key, request] = ['of one', { path: '/api-keys', body: { name: 'secret', role: 'ADMIN' } }]
  const first = await post<CreatedApiKey>(key, request)
  const [otherKey, member] = [await api.issueKey(workspace.token, 'ADMIN'), await api.join(workspace, 'ADMIN')]
  const elsewhere = await api.signUp()
  for (const credential of [otherKey, workspace.token, member.token, elsewhere.key]) {
    const other = await post<CreatedApiKey>(key, { ...request, credential })
    expect(other).toMatchObject({ status: 201, body: { key: expect.not.stringMatching(first.body.key) } })
    expect(other.headers['idempotent-replayed']).toBeUndefined()
  }
  expect((await post(key, request)).text).toBe(first.text)
})

test('a user gets the stored response in another session too', async () => {
  const [key, body] = ['of a user', { email: freshEmail() }]
  const first = await post(key, { body, credential: workspace.token })
  const { email, password } = workspace
  const session = await api.call('POST', '/auth/login', { body: { email, password } })
  const again = await post(key, { body, credential: String(session.body['token']) })
  expect(again).toMatchObject({ status: 201, text: first.text, headers: { 'idempotent-replayed': 'true' } })
})

test('does not replay a response to a role below the required one', async () => {
  const key = 'of an ADMIN'
  const issuing = { path: '/api-keys', body: { name: 'secret' } }
  expect(await post(key, issuing)).toMatchObject({ status: 201 })
  const credential = await api.issueKey(workspace.token, 'MEMBER')
  expectError(await post(key, { ...issuing, credential }), 403)
  expectError(await post(key, { ...issuing, credential: 'rpk_unknown' }), 401)
})

test('a stored response cannot be decrypted for another credential', async () => {
  const [key, body, elsewhere] = ['moved', { email: freshEmail() }, await api.signUp()]
  await post(key, { body })
  const me = await api.call<Me>('GET', '/auth/me', { key: elsewhere.key })
  await api.query(
    `insert into idempotency_records (workspace_id, key, request_hash, status, location, body, created_at)
     select $2::uuid, $3, request_hash, status, location, body, created_at
     from idempotency_records where key like '%' || $1`,
    [`\n${key}`, uuidOf(Id('wsp').parse(elsewhere.id)), `${me.body.apiKey?.id}\n${key}`],
  )
  const { message } = expectError(await post(key, { body, credential: elsewhere.key }), 409)
  expect(message).toBe('This Idempotency-Key was used before, but its response cannot be decrypted')
})
