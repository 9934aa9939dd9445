/** Email verification, invites and members: routes of the contract without a test elsewhere. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, expectError, freshEmail, type Json, password, startTestApi } from '../testing.ts'

interface Page {
  data: Json[]
  nextCursor: string | null
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = <Body = Json>(route: string, body?: unknown, key = workspace.token) => {
  const [method = '', path = ''] = route.split(' ')
  return api.call<Body>(method, path, { key, ...(body !== undefined && { body }) })
}
const open = (path: string, body: unknown) => api.call('POST', path, { body })
const listOf = async (path: string, key?: string) => (await call<Page>(`GET ${path}`, undefined, key)).body.data

test('POST /auth/verify-email: confirms the address with the password', async () => {
  const { email, token: key } = await api.signUp()
  const token = await api.tokenMailedTo(email)
  expectError(await open('/auth/verify-email', { token, password: 'wrong' }), 401)
  expectError(await open('/auth/verify-email', { token: 'bad', password }), 400)
  for (let count = 0; count < 2; count++) {
    expect(await open('/auth/verify-email', { token, password })).toMatchObject({ status: 204, text: '' })
  }
  expect((await call('GET /auth/me', undefined, key)).body).toMatchObject({ user: { emailVerifiedAt: aTimestamp } })
  expect(expectError(await call('POST /auth/resend-verification', undefined, key), 409).code).toBe('wrong_state')
})

test('POST /auth/resend-verification: once an hour, and not for an API key', async () => {
  const { token, key } = await api.signUp()
  const early = await call('POST /auth/resend-verification', undefined, token)
  expect(expectError(early, 409).code).toBe('quota_exceeded')
  expect(Number(early.headers['retry-after'])).toBeGreaterThan(3_500)
  await api.query(`update users set verification_mailed_at = now() - interval '61 minutes'`)
  expect((await call('POST /auth/resend-verification', undefined, token)).status).toBe(202)
  expectError(await call('POST /auth/resend-verification', undefined, key), 403)
})

test('POST /invites/{id}/resend: mails a new link, and the one before is dead', async () => {
  const email = freshEmail()
  const { id } = await api.create<{ id: string }>('/invites', workspace.token, { email, role: 'MEMBER' })
  const first = await api.tokenMailedTo(email)
  await api.query(`update mail_requests set created_at = now() - interval '1 hour'`)
  expect((await call(`POST /invites/${id}/resend`)).status).toBe(202)
  expectError(await open('/auth/accept-invite', { token: first, password }), 400, 'Invalid or expired token')
  expect(expectError(await call(`POST /invites/${id}/resend`), 409).code).toBe('quota_exceeded')
})

test('GET /members, GET, PATCH and DELETE /members/{id}: the last OWNER stays', async () => {
  const own = await api.signUp()
  const member = await api.join(own, 'MEMBER')
  const members = await listOf('/members', own.token)
  expect(members.map(({ role }) => role)).toEqual(expect.arrayContaining(['MEMBER', 'OWNER']))
  const path = `/members/${member.id}`
  expect((await call(`GET ${path}`, undefined, own.token)).body).toMatchObject({ id: member.id, role: 'MEMBER' })
  expect((await call(`PATCH ${path}`, { role: 'ADMIN' }, own.token)).body).toMatchObject({ role: 'ADMIN' })
  const owner = members.find(({ role }) => role === 'OWNER')
  const ownerPath = `/members/${String(owner?.['id'])}`
  expect(expectError(await call(`PATCH ${ownerPath}`, { role: 'ADMIN' }, own.token), 409).code).toBe('wrong_state')
  expectError(await call(`DELETE ${ownerPath}`, undefined, own.token), 409)
  expect((await call(`DELETE ${path}`, undefined, own.token)).status).toBe(204)
  expectError(await call('GET /contacts', undefined, member.token), 401)
})
