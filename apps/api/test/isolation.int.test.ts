/** No route reads, changes or uses a record of another workspace, or reveals that it exists. */
import type { CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { cases, fillWorkspace, type Ids, unknownIds, type Request } from './isolation-cases.ts'
import { eveEmail } from './isolation-mcp.ts'
import { readEverything, toComparable } from './isolation-workspace.ts'
import { expectError, type Json, type Operation, operationsOf, startTestApi, type TestWorkspace } from './testing.ts'

const api = useForFile(() => startTestApi())
let secured: Operation[]
let [ada, eve]: TestWorkspace[] = []
let [adaIds, eveIds]: Ids[] = []
beforeAll(async () => {
  secured = (await operationsOf(api)).filter(({ isSecured }) => isSecured)
  ;[ada, eve] = [await api.signUp(), await api.signUp(eveEmail)]
  ;[adaIds, eveIds] = [await fillWorkspace(api, ada), await fillWorkspace(api, eve)]
})

const call = (method: string, { path, ...sent }: Request, key: string | undefined) =>
  api.call(method, path, { key: key ?? '', ...sent })

/** Reads every row of Ada's workspace. */
async function readAdaRows() {
  const rows = await readEverything(api, ada?.id)
  expect(rows).toMatchObject({ contacts: [{}, {}, {}, {}, {}], lists: [{}, {}], campaigns: [{}, {}], forms: [{}] })
  return rows
}

test('every authenticated operation has isolation cases', () => {
  expect(Object.keys(cases).toSorted()).toEqual(
    secured.map(({ method, template }) => `${method} ${template}`).toSorted(),
  )
  for (const [name, makers] of Object.entries(cases)) {
    expect(`${name} ${name.includes('{') && makers.length === 0 ? 'names no record' : 'is covered'}`).toMatch(
      /is covered$/,
    )
  }
})

test('every body field that names a record has a case', async () => {
  const { text } = await api.call('GET', '/openapi.json')
  const { paths, components } = JSON.parse(text) as {
    paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: { $ref?: string } }> } }>>
    components: { schemas: Record<string, { properties?: Record<string, object> }> }
  }
  for (const [template, methods] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const makers = cases[`${method.toUpperCase()} ${template}`]
      const schemaName = requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? ''
      const fields = Object.keys(components.schemas[schemaName]?.properties ?? {})
      const naming = makers ? fields.filter((field) => /(?<!external)Ids?$/.test(field)) : []
      const covered = (makers ?? []).flatMap((make) => Object.keys(make(unknownIds, unknownIds).body ?? {}))
      expect([template, naming.filter((field) => !covered.includes(field))]).toEqual([template, []])
    }
  }
})

test('every operation returns 401 for missing, invalid and revoked credentials', async () => {
  const { id, key } = await api.create<CreatedApiKey>('/api-keys', ada?.token ?? '', { name: 'revoked', role: 'ADMIN' })
  await api.call('DELETE', `/api-keys/${id}`, { key: ada?.token ?? '' })
  const { token } = await api.signUp()
  await api.call('POST', '/auth/logout', { key: token })
  const before = await readAdaRows()
  for (const { method, template, path, example } of secured) {
    const own = cases[`${method} ${template}`]?.[0]?.(adaIds ?? unknownIds, adaIds ?? unknownIds) ?? {
      path,
      body: example,
    }
    const responses = [
      await api.call(method, own.path, { ...('body' in own && { body: own.body }) }),
      await call(method, own, 'rpk_'),
      await call(method, own, 'null'),
      await call(method, own, key),
      await call(method, own, token),
      // Without a credential, other errors of the request are not reported.
      await api.call(method, `${path}?nonsense=1`, { raw: '{bad', headers: { 'content-type': 'text/plain' } }),
    ]
    for (const response of responses) {
      expect(`${method} ${template}: ${response.status}`).toBe(`${method} ${template}: 401`)
      expectError(response, 401, 'Missing or invalid credential: send "Authorization: Bearer <API key>"')
      expect(response.headers['www-authenticate']).toMatch(/^Bearer/)
    }
  }
  expect(await readAdaRows()).toEqual(before)
})

test('every operation treats a record of another workspace exactly like an unknown one', async () => {
  if (!adaIds || !eveIds) throw new Error('The records are missing')
  const before = await readAdaRows()
  for (const [name, makers] of Object.entries(cases)) {
    const [method = ''] = name.split(' ')
    for (const [index, make] of makers.entries()) {
      const missing = await call(method, make(unknownIds, eveIds), eve?.token)
      const foreign = await call(method, make(adaIds, eveIds), eve?.token)
      expect({ name, index, ...toComparable(foreign) }).toEqual({ name, index, ...toComparable(missing) })
      expect(`${name}: ${foreign.status}`).toMatch(/: (200|202|400|404)$/)
    }
  }
  expect(await readAdaRows()).toEqual(before)
  // The same requests succeed for the owner of the records.
  for (const [name, makers] of Object.entries(cases)) {
    const [method = ''] = name.split(' ')
    for (const [index, make] of makers.entries()) {
      const own = await call(method, make(adaIds, adaIds), ada?.token)
      expect(`${name} ${index}: ${own.status} ${own.text}`).toMatch(
        /: 20[0124] (?!\{"results":\[\{"status":"FAILED")|: 409 Only a DRAFT/,
      )
    }
  }
})

/** Examples, which are the same for all workspaces, and numbers: `contract/quotas.int.test.ts` tests these. */
const withoutIds = new Set(['/event-types', '/template-variables', '/workspace/usage'])

test('a listing shows only records of its own workspace', async () => {
  for (const { method, template } of secured) {
    if (method !== 'GET' || template.includes('{') || withoutIds.has(template)) continue
    const [own, foreign] = [
      await api.call('GET', template, { key: ada?.token ?? '' }),
      await api.call('GET', template, { key: eve?.token ?? '' }),
    ]
    // A mail report contains the `messageId` that the client sent.
    const idsIn = (text: string) =>
      new Set(text.replace(/"messageId":"[^"]*"/g, '').match(/[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}/g))
    expect([template, [...idsIn(own.text)].filter((id) => idsIn(foreign.text).has(id))]).toEqual([template, []])
    expect(`${template} ${idsIn(own.text).size}`).not.toMatch(/ 0$/)
  }
})

test('a session of a user in two workspaces sees only its own workspace', async () => {
  await api.query(
    `insert into members (workspace_id, user_id, role)
     select (select workspace_id from api_keys where prefix = $1), id, 'MEMBER' from users where email = $2`,
    [eve?.key.slice(0, 10), ada?.email],
  )
  const logIn = async (workspaceId: string | undefined) =>
    (await api.call('POST', '/auth/login', { body: { email: ada?.email, password: ada?.password, workspaceId } })).body
  for (const [workspace, mine, theirs] of [
    [ada, adaIds, eveIds],
    [eve, eveIds, adaIds],
  ] as const) {
    const key = String((await logIn(workspace?.id))['token'])
    expect(await api.call('GET', `/contacts/${mine?.contact}`, { key })).toMatchObject({ status: 200 })
    expectError(await api.call('GET', `/contacts/${theirs?.contact}`, { key }), 404)
  }
})

test('one email address in two workspaces is two independent contacts', async () => {
  const find = async (workspace: TestWorkspace | undefined) =>
    (await api.call<{ data: Json[] }>('GET', '/contacts?email=both@example.com', { key: workspace?.key ?? '' })).body
      .data
  const [mine, theirs] = [await find(ada), await find(eve)]
  expect([mine.length, theirs.length]).toEqual([1, 1])
  expect(mine[0]?.['id']).not.toBe(theirs[0]?.['id'])
  const body = { email: 'both@example.com', firstName: 'Changed' }
  expect(await api.call('PUT', '/contacts', { key: eve?.key ?? '', body })).toMatchObject({ status: 200 })
  expect(await find(ada)).toEqual(mine)
  expect(await find(eve)).toMatchObject([{ firstName: 'Changed' }])
})
