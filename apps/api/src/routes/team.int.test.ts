import type { Invite, Member } from '@rapport/core/team/team.schema.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForTest(() => api.signUp())

function call<Body = Record<string, unknown>>(route: string, body?: unknown, key = workspace.token) {
  const [method = '', path = ''] = route.split(' ')
  return api.call<Body>(method, path, { key, ...(body !== undefined && { body }) })
}
const readMembers = async () => (await call<{ data: Member[] }>('GET /members')).body.data
const readInvites = async () => (await call<{ data: Invite[] }>('GET /invites')).body.data
const invite = (body: Record<string, unknown>, key = workspace.token) => call<Invite>('POST /invites', body, key)

test('GET and POST /invites, GET and DELETE /invites/{id}: listed without its token', async () => {
  const email = freshEmail()
  const response = await invite({ email: ` ${email} `, role: 'MEMBER' })
  expect(response).toMatchObject({ status: 201, headers: { location: `/invites/${response.body.id}` } })
  expect(response.body).toEqual({
    id: anId('inv'),
    email,
    role: 'MEMBER',
    createdBy: anId('usr'),
    expiresAt: aTimestamp,
    createdAt: aTimestamp,
  })
  expect((Date.parse(response.body.expiresAt) - Date.now()) / 86_400_000).toBeCloseTo(7, 2)
  expect(await readInvites()).toEqual([response.body])
  expect((await call(`GET /invites/${response.body.id}`)).body).toEqual(response.body)
  expectError(await invite({ email: email.toUpperCase(), role: 'VIEWER' }), 409)
  expectError(await invite({ email: workspace.email, role: 'VIEWER' }), 409, 'This address already belongs to a member')

  const token = await api.tokenMailedTo(email)
  const { headers } = await call(`POST /invites/${response.body.id}/resend`)
  expect(Number(headers['retry-after'])).toBeGreaterThan(590)
  await api.query(`update mail_requests set created_at = now() - interval '1 hour'`)
  const again = await call<Invite>(`POST /invites/${response.body.id}/resend`)
  expect(again).toMatchObject({ status: 202, body: { id: response.body.id, email } })
  expect(await api.tokenMailedTo(email)).not.toBe(token)
  expect(await call(`DELETE /invites/${response.body.id}`)).toMatchObject({ status: 204, text: '' })
  expect(await readInvites()).toEqual([])
  for (const [method, path] of [
    ['DELETE', ''],
    ['POST', '/resend'],
  ] as const) {
    expectError(await call(`${method} /invites/${response.body.id}${path}`), 404, 'Invite not found')
  }
})

test('rejects an invalid invite and names each field', async () => {
  const cases: [Record<string, unknown>, string[]][] = [
    [{}, ['email', 'role']],
    [{ email: 'a@b', role: 'GOD' }, ['email', 'role']],
    [{ email: 'a@example.com, b@example.com', role: 'MEMBER' }, ['email']],
    [{ email: freshEmail(), role: ['OWNER'], id: 'x' }, ['role', 'id']],
  ]
  for (const [body, fields] of cases) {
    const { issues } = expectError(await invite(body), 400)
    expect(issues?.map(({ path }) => path)).toEqual(fields)
  }
  expect(await readInvites()).toEqual([])
})

test('lists the members with their roles, without secrets', async () => {
  const { id, email } = await api.join(workspace, 'VIEWER')
  const list = await readMembers()
  const owner = { id: anId('usr'), email: workspace.email, name: '', role: 'OWNER', createdAt: aTimestamp }
  expect(list).toEqual([{ id, email, name: '', role: 'VIEWER', createdAt: aTimestamp }, owner])
})

test('a changed role and a removal take effect on the next request', async () => {
  const { id, token } = await api.join(workspace, 'VIEWER')
  const write = () => call('POST /contacts', { email: freshEmail() }, token)
  expectError(await write(), 403)
  expect(await call(`PATCH /members/${id}`, { role: 'MEMBER' })).toMatchObject({
    status: 200,
    body: { id, role: 'MEMBER' },
  })
  expect(await write()).toMatchObject({ status: 201 })
  expect(await call(`DELETE /members/${id}`)).toMatchObject({ status: 204, text: '' })
  expectError(await write(), 401)
  expectError(await call(`PATCH /members/${id}`, { role: 'MEMBER' }), 404, 'User not found')
})

test.each(['VIEWER', 'MEMBER', 'ADMIN'] as const)(
  'a %s can leave the workspace, but not remove the OWNER',
  async (role) => {
    const [owner] = await readMembers()
    const [{ id, token }, other] = [await api.join(workspace, role), await api.join(workspace, 'VIEWER')]
    expectError(await call(`DELETE /members/${owner?.id}`, undefined, token), 403)
    const key = await api.issueKey(workspace.token, 'MEMBER')
    for (const credential of role === 'ADMIN' ? [key] : [key, token]) {
      // The response is the same if the member does not exist.
      for (const one of [other.id, 'usr_01kag7m3v9e8fs2t4w6x8y0z1b'])
        expectError(
          await call(`DELETE /members/${one}`, undefined, credential),
          403,
          'This request requires the role ADMIN',
        )
    }
    expect(await call(`DELETE /members/${id}`, undefined, token)).toMatchObject({ status: 204, text: '' })
    expectError(await call('GET /members', undefined, token), 401)
    expect((await readMembers()).map((member) => member.id)).toEqual([other.id, owner?.id])
  },
)

test('GET and PATCH /workspace: an update changes only the given fields', async () => {
  const change = {
    name: ' Engines ',
    currency: 'JPY',
    fromName: 'Ada',
    fromEmail: 'ada@engines.example',
    postalAddress: '12 Analytical Street\nLondon',
    logoUrl: 'https://images.example.com/logo.svg?v=2',
    accentColor: '#2f5bea',
    confirmChangedAddress: true,
    trackingWithoutConsent: 'PERSON',
  }
  const before = (await call('GET /workspace')).body
  const { status, body } = await call('PATCH /workspace', change)
  expect({ status, body }).toEqual({
    status: 200,
    body: { ...before, ...change, name: 'Engines', updatedAt: aTimestamp },
  })
  expect((await call('GET /workspace')).body).toEqual(body)
  const cleared = { fromName: null, fromEmail: null, postalAddress: '', logoUrl: null, accentColor: null }
  expect((await call('PATCH /workspace', cleared)).body).toMatchObject({
    name: 'Engines',
    ...cleared,
    postalAddress: null,
  })
  const after = (await call('GET /workspace')).body
  for (const same of [{}, { name: 'Engines', currency: 'JPY', fromName: null }])
    expect((await call('PATCH /workspace', same)).body).toEqual(after)
})

test('rejects invalid settings by field and changes nothing', async () => {
  const before = (await call('GET /workspace')).body
  const wrong: [string, unknown[]][] = [
    ['name', ['', ' ', null, 5, 'x'.repeat(201), 'a\nb']],
    ['currency', ['', 'eur', 'EURO', 'XYZ', null, 5]],
    ['fromName', [5, 'a\r\nBcc: eve@example.com', 'x'.repeat(201)]],
    ['fromEmail', ['', 'ada', 'a@b', 5, 'a@example.com\nBcc: x@example.com']],
    ['postalAddress', [5, 'x'.repeat(2_001), 'a\u0001']],
    ['logoUrl', [5, '', '/logo.png', 'http://example.com/x.png', 'https:example.com', 'javascript:alert(1)']],
    [
      'logoUrl',
      ['https://ada:secret@example.com/', 'https://a;b.example/', 'https://*', `https://a.de/${'x'.repeat(2_048)}`],
    ],
    ['accentColor', [5, '', 'red', '#fff', '#12345g', '2f5bea', '#2f5bea80', ' #2f5bea', '#ffffff']],
    ['confirmChangedAddress', [null, 'true', 1]],
    ['trackingWithoutConsent', [null, 'person', 'NONE', true]],
    ['id', ['wsp_01kag7m3v9e8fs2t4w6x8y0z1b']],
  ]
  for (const [field, values] of wrong) {
    for (const value of values) {
      const { issues } = expectError(await call('PATCH /workspace', { name: 'Other', [field]: value }), 400)
      expect([field, value, issues?.map(({ path }) => path)]).toEqual([field, value, [field]])
    }
  }
  expect((await call('GET /workspace')).body).toEqual(before)
})
