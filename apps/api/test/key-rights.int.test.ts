/** The rights of API keys: what a key with rights may call, and that no key makes one that may do more. */
import type { CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { operationIds } from '@rapport/core/auth/rights/operations.ts'
import { rightNames } from '@rapport/core/auth/rights/rights.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { tools } from '../src/mcp/tools.ts'
import { callMethod, callTool } from './mcp.ts'
import { expectError, operationsOf, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let secured: { method: string; path: string; operationId: string; requiredRight: string | undefined }[]
beforeAll(async () => {
  const { body } = await api.call<{ paths: Record<string, Record<string, Record<string, string>>> }>(
    'GET',
    '/openapi.json',
  )
  const operations = await operationsOf(api)
  secured = operations.flatMap(({ method, template, path, isSecured }) => {
    const described = body.paths[template]?.[method.toLowerCase()] ?? {}
    const { operationId = '', 'x-required-right': requiredRight } = described
    return isSecured && template !== '/metrics' ? [{ method, path, operationId, requiredRight }] : []
  })
})

const issue = (rights: unknown, key = workspace.token, more = {}) =>
  api.call<CreatedApiKey>('POST', '/api-keys', { key, body: { name: 'key', role: 'ADMIN', rights, ...more } })

/** The model: what a key with these rights may call. */
function isAllowed(rights: readonly string[], id: string): boolean {
  if (id === 'auth.me' || id === 'mcp.call') return true
  const covers = (right: string) => right === id || (right.endsWith('.*') && id.startsWith(right.slice(0, -1)))
  const taken = rights.filter((right) => right.startsWith('-')).map((right) => right.slice(1))
  return rights.some(covers) && !taken.some(covers)
}

const withheld = /^(apiKeys|invites|members)\./
const given = fc.constantFrom(...rightNames.filter((name) => !withheld.test(name)))
const taken = fc.constantFrom(...rightNames).map((name) => `-${name}`)
const someRights = fc
  .tuple(fc.uniqueArray(given, { minLength: 1, maxLength: 40 }), fc.uniqueArray(taken, { maxLength: 20 }))
  .map(([positive, negative]) => [...negative, ...positive])

test('the rights name every operation that needs a credential, and no other', () => {
  expect(operationIds.toSorted()).toEqual(secured.map(({ operationId }) => operationId).toSorted())
})

test('an operation that rights can name shows its id as `x-required-right`', () => {
  for (const { operationId, requiredRight } of secured) {
    const isGrantable = operationId !== 'auth.me' && operationId !== 'mcp.call' && !withheld.test(operationId)
    expect([operationId, requiredRight]).toEqual([operationId, isGrantable ? operationId : undefined])
  }
})

describe.each(
  fc.sample(someRights, { numRuns: countRuns({ gate: 8, full: 20 }), seed: 7 }).map((rights, set) => ({ set, rights })),
)('set $set', ({ rights }) => {
  test('a key may call what the model says, and no other operation', async () => {
    const { key } = (await issue(rights)).body
    for (const { method, path, operationId } of secured) {
      // No body: what is allowed fails later, except by its role.
      const { status, body } = await api.call<{ message?: string }>(method, path, { key })
      const isRefused = status === 403 && body.message === `The rights of this API key do not include ${operationId}`
      expect([operationId, isRefused, status === 401]).toEqual([operationId, !isAllowed(rights, operationId), false])
    }
  })

  test('a tool of agents needs the right to all that it does', async () => {
    const { key } = (await issue(rights)).body
    const { body } = await callMethod(api, key, { method: 'tools/list' })
    const listed = (body.result as { tools: { name: string }[] }).tools.map(({ name }) => name)
    const allowed = tools.filter(({ operations }) => operations.every((id) => isAllowed(rights, id)))
    expect(listed).toEqual(allowed.map(({ name }) => name))
    for (const { name } of tools.filter((tool) => !allowed.includes(tool))) {
      const { isError, value } = await callTool(api, key, { name })
      expect([name, isError, value['code']]).toEqual([name, true, 'forbidden'])
    }
  })
})

test('no sequence of requests makes a key that may do more than its maker', async () => {
  const ladder = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER']
  const anyRights = fc.option(
    fc.oneof(someRights, fc.array(fc.constantFrom(...rightNames), { minLength: 1, maxLength: 3 })),
  )
  const step = fc.record({
    maker: fc.oneof(fc.constant(0), fc.nat()),
    role: fc.constantFrom('VIEWER', 'MEMBER', 'ADMIN', 'OWNER'),
    rights: anyRights,
    viaInvite: fc.boolean(),
  })
  const read = async (key: string) =>
    (await api.call<{ role: string; apiKey: { rights: string[] | null } | null }>('GET', '/auth/me', { key })).body
  const member = await api.join(workspace, 'MEMBER')
  let madeCount = 0
  for (const steps of fc.sample(fc.array(step, { minLength: 15, maxLength: 15 }), { numRuns: 4, seed: 7 })) {
    const credentials = [workspace.token, member.token, await api.issueKey(workspace.token, 'MEMBER')]
    for (const { maker, role, rights, viaInvite } of steps) {
      const key = credentials[maker % credentials.length] ?? ''
      const before = await read(key)
      if (viaInvite && before.apiKey?.rights) {
        const response = await api.call('POST', '/invites', { key, body: { email: 'eve@example.com', role } })
        expectError(response, 403)
      }
      const made = await issue(rights, key, { role })
      if (made.status !== 201) continue
      credentials.push(made.body.key)
      const after = await read(made.body.key)
      expect(before.apiKey?.rights ?? null).toBeNull()
      expect(ladder.indexOf(after.role)).toBeLessThanOrEqual(ladder.indexOf(before.role))
    }
    madeCount += credentials.length - 3
  }
  expect(madeCount).toBeGreaterThan(8)
})

test.each([
  [
    ['contact.list'],
    'rights.0',
    'must be an operation, such as contacts.list, or all of a resource, such as contacts.* (did you mean "contacts.list"?)',
  ],
  [['contacts.list', '-contacts.exports'], 'rights.1', expect.stringContaining('(did you mean "contacts.export"?)')],
  [['*'], 'rights.0', expect.stringMatching(/^must be an operation/)],
  [['contacts.*', 'apiKeys.list'], 'rights.1', expect.stringMatching(/^must not be of apiKeys, invites or members/)],
  [['members.*'], 'rights.0', expect.stringMatching(/^must not be of apiKeys, invites or members/)],
  [['invites.create'], 'rights.0', expect.stringMatching(/^must not be of apiKeys, invites or members/)],
  [['-contacts.export'], 'rights', 'must name an operation that the key may call'],
  [[], 'rights', 'must name an operation that the key may call'],
  ['contacts.*', 'rights', expect.stringMatching(/array/)],
  [[1], 'rights.0', expect.stringMatching(/string/)],
])('POST /api-keys refuses the rights %j and names what is wrong', async (rights, path, message: unknown) => {
  expect(expectError(await issue(rights), 400).issues).toEqual([{ path, message }])
})

test('a key shows its rights, and so do the listing, GET /auth/me and the audit log', async () => {
  const rights = ['contacts.*', '-contacts.export', 'auditLog.list']
  const { id, key, ...made } = (await issue([...rights, 'contacts.*'])).body
  expect(made.rights).toEqual(rights)
  expect((await api.call('GET', `/api-keys/${id}`, { key: workspace.key })).body).toMatchObject({ rights })
  expect((await api.call('GET', '/auth/me', { key })).body).toMatchObject({ apiKey: { id, rights } })
  const audited = await api.call<{ data: object[] }>('GET', '/audit-log?action=api_key.created&limit=1', { key })
  expect(audited.body.data[0]).toMatchObject({ subjectId: id, details: { rights: rights.join() } })
  expect((await issue(null)).body.rights).toBeNull()
})

test('a right does not raise the role, and the response says so', async () => {
  const { key } = (await issue(['contacts.create', 'workspace.update'], workspace.token, { role: 'VIEWER' })).body
  const { message } = expectError(await api.call('POST', '/contacts', { key, body: { email: 'ada@example.com' } }), 403)
  expect(message).toBe('This request requires the role MEMBER')
})

test('a HEAD request needs the right to the GET', async () => {
  const { key } = (await issue(['contacts.get'])).body
  expect((await api.call('HEAD', '/contacts', { key })).status).toBe(403)
})
