import type { Me } from '@rapport/core/auth/auth.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeAll, expect, test } from 'vitest'
import { expectError, operationsOf, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let keys: Record<'VIEWER' | 'MEMBER' | 'ADMIN', string>
beforeAll(async () => {
  const issue = (role: keyof typeof keys) => api.issueKey(workspace.token, role)
  keys = { VIEWER: await issue('VIEWER'), MEMBER: await issue('MEMBER'), ADMIN: await issue('ADMIN') }
})

const unauthorizedBody =
  '{"statusCode":401,"message":"Missing or invalid credential: send \\"Authorization: Bearer <API key>\\"","error":"Unauthorized","code":"unauthorized","docUrl":"https://crm.example.com/docs/errors#unauthorized"}'

async function expectUnauthorized(headers: Record<string, string>, path = '/contacts') {
  const response = await api.call('GET', path, { headers })
  expectError(response, 401)
  expect(`${JSON.stringify(headers)} ${response.text}`).toBe(`${JSON.stringify(headers)} ${unauthorizedBody}`)
  // RFC 6750: an error code only for a request with a credential.
  const hasCredential = headers['authorization'] !== undefined
  expect(response.headers['www-authenticate']).toBe(hasCredential ? 'Bearer error="invalid_token"' : 'Bearer')
}

test('every invalid credential gets the same 401 response', async () => {
  const { key, token, email, password } = workspace
  const credentials = [
    '',
    'Bearer',
    'Bearer ',
    'Bearer null',
    'Bearer undefined',
    `Bearer ${key} ${key}`,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.toLowerCase()}`,
    `Bearer ${key.replace('rpk_', 'rps_')}`,
    `Bearer ${token.replace('rps_', 'rpk_')}`,
    `Bearer rpk_${'a'.repeat(43)}`,
    `Bearer ${'a'.repeat(1_000_000)}`,
    `Bearer "${key}"`,
    `Bearer ${key},`,
    `Token ${key}`,
    key,
    `Basic ${btoa(`${email}:${password}`)}`,
    "Bearer ' or true --",
    'Bearer ünï',
  ]
  await expectUnauthorized({})
  for (const authorization of credentials) await expectUnauthorized({ authorization })
  await expectUnauthorized({ 'x-api-key': key })
  await expectUnauthorized({ cookie: `token=${token}` })
  await expectUnauthorized({}, `/contacts?access_token=${token}`)
})

test('the Bearer scheme is case-insensitive', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const response = await api.call('GET', '/contacts', { headers: { authorization: `${scheme} ${workspace.key}` } })
    expect(response.status).toBe(200)
  }
})

test('rejects expired API keys and sessions', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const { key } = await api.create('/api-keys', workspace.key, { name: 'for an hour', expiresAt })
  const { token } = await api.signUp()
  for (const credential of [key, token]) {
    expect(await api.call('GET', '/contacts', { key: String(credential) })).toMatchObject({ status: 200 })
  }
  await api.query(`update api_keys set expires_at = now() where name = 'for an hour'`)
  await api.query(`update sessions set expires_at = now() where created_at = (select max(created_at) from sessions)`)
  for (const credential of [key, token]) await expectUnauthorized({ authorization: `Bearer ${String(credential)}` })
})

test('rejects the session of a removed member', async () => {
  const left = await api.signUp()
  await api.query(`delete from members where user_id = (select id from users where email = $1)`, [left.email])
  await expectUnauthorized({ authorization: `Bearer ${left.token}` })
})

test('stores only hashes of credentials, which do not authenticate', async () => {
  const rows = await api.query(`select key_hash from api_keys union all select token_hash from sessions`)
  expect(rows.length).toBeGreaterThan(4)
  for (const { key_hash } of rows) await expectUnauthorized({ authorization: `Bearer ${String(key_hash)}` })
  const stored = await api.query(`select row_to_json(t)::text as row from api_keys t
    union all select row_to_json(t)::text from sessions t union all select row_to_json(t)::text from users t`)
  const text = JSON.stringify(stored)
  for (const secret of [workspace.key, workspace.token, workspace.password]) expect(text).not.toContain(secret)
})

/** The role that the HTTP contract requires. A route with another role must be added here. */
function leastRole(method: string, template: string) {
  if (/^\/(api-keys|invites|audit-log|mail-hooks)/.test(template)) return 'ADMIN'
  if (template === '/contacts/{id}/erasure-receipt') return 'ADMIN'
  if (template === '/workspace' && method === 'DELETE') return 'OWNER'
  if (method === 'DELETE' && /^\/suppressions|\/opt-out$/.test(template)) return 'ADMIN'
  if (['/sessions/{id}', '/mcp', '/segments/preview'].includes(template)) return 'VIEWER'
  if (template === '/contacts/export' || template === '/contacts/{id}/export') return 'MEMBER'
  if (/^\/(members|workspace|domains)/.test(template) && method !== 'GET' && method !== 'HEAD') return 'ADMIN'
  if (/^\/templates(\/\{id\})?$/.test(template) && method !== 'GET' && method !== 'HEAD') return 'ADMIN'
  if (method === 'GET' || method === 'HEAD' || template.startsWith('/auth/')) return 'VIEWER'
  return 'MEMBER'
}

test('every route returns 403 to roles below the required one', async () => {
  const ladder = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'] as const
  const secured = (await operationsOf(api)).filter(({ isSecured }) => isSecured)
  const heads = secured.filter(({ method }) => method === 'GET').map((route) => ({ ...route, method: 'HEAD' }))
  for (const { method, template, path } of [...secured, ...heads]) {
    const least = leastRole(method, template)
    // At the gate, the required role and the one below.
    const isTried = (role: (typeof ladder)[number]) =>
      isFullRun || [0, 1].includes(ladder.indexOf(least) - ladder.indexOf(role))
    for (const role of (['VIEWER', 'MEMBER', 'ADMIN'] as const).filter(isTried)) {
      const call = () => api.call(method, path, { key: keys[role], raw: '{"nonsense":true}' })
      // The export of the last role may still be closing its snapshot, and only one may be under way.
      const callOnceFree = async () => {
        const response = await call()
        return response.status !== 409 && response
      }
      const response = await waitUntil(callOnceFree, { describe: `${method} ${template} is not a 409` })
      const isForbidden = ladder.indexOf(role) < ladder.indexOf(least)
      expect(`${role} ${method} ${template}: ${response.status}`).toMatch(
        isForbidden ? /: 403$/ : /: (200|204|400|404)$|\/import: 415$/,
      )
      expect(response.text).toBe(
        isForbidden && method !== 'HEAD'
          ? `{"statusCode":403,"message":"This request requires the role ${least}","error":"Forbidden","code":"forbidden","docUrl":"https://crm.example.com/docs/errors#forbidden"}`
          : response.text,
      )
    }
  }
})

test('concurrent requests are authenticated independently', async () => {
  const others = await Promise.all([api.signUp(), api.signUp(), api.signUp()])
  const credentials = others.flatMap(({ key, token, id }) => [
    [key, id],
    [token, id],
    [`${key.slice(0, -2)}xx`, undefined],
    [`${token.slice(0, -2)}xx`, undefined],
  ])
  const asked = Array.from({ length: 10 }, () => credentials).flat()
  const responses = await Promise.all(
    asked.map(([token]) => api.call<Partial<Me>>('GET', '/auth/me', { key: String(token) })),
  )
  const seen = responses.map(({ body }) => body.workspace?.id)
  expect(seen).toEqual(asked.map(([, id]) => id))
})
