/** No workspace learns of, changes or uses what is another's, on any route that there is. */
import type { CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Answer,
  expectError,
  freshEmail,
  type Json,
  type Operation,
  operationsOf,
  startTestApi,
  type TestApi,
  type TestWorkspace,
} from './testing.ts'

/** The records that a request can name. */
interface Ids {
  contact: string
  list: string
  campaign: string
  webhook: string
  apiKey: string
  invite: string
  session: string
  member: string
  workspace: string
  /** Three that are one person. */
  duplicates: [string, string, string]
  customField: string
  import: string
}

const nobodys: Ids = {
  contact: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
  list: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
  campaign: 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b',
  webhook: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b',
  apiKey: 'key_01kag7m3v9e8fs2t4w6x8y0z1b',
  invite: 'inv_01kag7m3v9e8fs2t4w6x8y0z1b',
  member: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b',
  session: 'ses_01kag7m3v9e8fs2t4w6x8y0z1b',
  workspace: 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b',
  duplicates: ['con_01kag7m3v9e8fs2t4w6x8y0z1b', 'con_01kag7m3v9e8fs2t4w6x8y0z2c', 'con_01kag7m3v9e8fs2t4w6x8y0z3d'],
  customField: 'cfd_01kag7m3v9e8fs2t4w6x8y0z1b',
  import: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b',
}

interface Request {
  path: string
  body?: unknown
  raw?: string
  headers?: Record<string, string>
}

/** In place of a body of JSON. */
const aFile = { raw: 'email\nada@example.com\n', headers: { 'content-type': 'text/csv' } }

type MakeRequest = (ids: Ids, own: Ids) => Request

/** For every operation that takes a credential, each way to name a record in it: in the path, the query and the body. */
const cases: Record<string, MakeRequest[]> = {
  'GET /auth/me': [],
  'POST /auth/logout': [],
  'GET /api-keys': [],
  'POST /api-keys': [],
  'DELETE /api-keys/{id}': [({ apiKey }) => ({ path: `/api-keys/${apiKey}` })],
  'GET /workspace': [],
  'PATCH /workspace': [],
  'DELETE /workspace': [],
  'GET /workspaces': [],
  'GET /sessions': [],
  'DELETE /sessions/{id}': [({ session }) => ({ path: `/sessions/${session}` })],
  'GET /audit-log': [({ member }) => ({ path: `/audit-log?actorId=${member}` })],
  'GET /invites': [],
  'POST /invites': [],
  'POST /invites/{id}/resend': [({ invite }) => ({ path: `/invites/${invite}/resend` })],
  'DELETE /invites/{id}': [({ invite }) => ({ path: `/invites/${invite}` })],
  'GET /members': [],
  'PATCH /members/{id}': [({ member }) => ({ path: `/members/${member}`, body: { role: 'MEMBER' } })],
  'DELETE /members/{id}': [({ member }) => ({ path: `/members/${member}` })],
  'GET /contacts': [({ list }) => ({ path: `/contacts?listId=${list}` })],
  'POST /contacts': [],
  'PUT /contacts': [],
  'GET /contacts/{id}': [({ contact }) => ({ path: `/contacts/${contact}` })],
  'PATCH /contacts/{id}': [({ contact }) => ({ path: `/contacts/${contact}`, body: { firstName: 'taken over' } })],
  'GET /contacts/{id}/activity': [({ contact }) => ({ path: `/contacts/${contact}/activity` })],
  'POST /contacts/{id}/tags': [({ contact }) => ({ path: `/contacts/${contact}/tags`, body: { tags: ['a'] } })],
  'DELETE /contacts/{id}/tags/{tag}': [({ contact }) => ({ path: `/contacts/${contact}/tags/secret` })],
  'POST /contacts/{id}/merge': [
    ({ duplicates: [one] }, own) => ({ path: `/contacts/${one}/merge`, body: { contactId: own.duplicates[1] } }),
    ({ duplicates: [, , three] }, own) => ({
      path: `/contacts/${own.duplicates[0]}/merge`,
      body: { contactId: three },
    }),
  ],
  'DELETE /contacts/{id}': [({ duplicates: [one] }) => ({ path: `/contacts/${one}` })],
  'GET /contacts/export': [({ list }) => ({ path: `/contacts/export?listId=${list}` })],
  'POST /contacts/import': [({ list }) => ({ path: `/contacts/import?listId=${list}&consent=confirmed`, ...aFile })],
  'GET /imports': [],
  'GET /imports/{id}': [(ids) => ({ path: `/imports/${ids.import}` })],
  'GET /custom-fields': [],
  'POST /custom-fields': [],
  'PATCH /custom-fields/{id}': [({ customField }) => ({ path: `/custom-fields/${customField}`, body: { label: 'a' } })],
  'DELETE /custom-fields/{id}': [({ customField }) => ({ path: `/custom-fields/${customField}` })],
  'GET /lists': [],
  'POST /lists': [],
  'GET /lists/{id}': [({ list }) => ({ path: `/lists/${list}` })],
  'GET /campaigns': [],
  'POST /campaigns': [({ list }) => ({ path: '/campaigns', body: { name: 'a', subject: 'b', listId: list } })],
  'GET /campaigns/{id}': [({ campaign }) => ({ path: `/campaigns/${campaign}` })],
  'PATCH /campaigns/{id}': [
    ({ campaign }) => ({ path: `/campaigns/${campaign}`, body: { name: 'taken over' } }),
    ({ campaign }, own) => ({ path: `/campaigns/${campaign}`, body: { listId: own.list } }),
    ({ list }, own) => ({ path: `/campaigns/${own.campaign}`, body: { listId: list } }),
  ],
  'POST /campaigns/{id}/send': [({ campaign }) => ({ path: `/campaigns/${campaign}/send` })],
  'POST /campaigns/{id}/send-test': [
    ({ campaign }) => ({ path: `/campaigns/${campaign}/send-test`, body: { email: 'eve@example.com' } }),
    ({ contact }, own) => ({
      path: `/campaigns/${own.campaign}/send-test`,
      body: { email: 'eve@example.com', contactId: contact },
    }),
  ],
  'GET /webhooks': [],
  'POST /webhooks': [],
  'GET /webhooks/{id}': [({ webhook }) => ({ path: `/webhooks/${webhook}` })],
  'GET /pipelines': [],
}

let api: TestApi
let secured: Operation[]
let [ada, eve]: TestWorkspace[] = []
let [adas, eves]: Ids[] = []
beforeAll(async () => {
  api = await startTestApi()
  secured = (await operationsOf(api)).filter(({ isSecured }) => isSecured)
  ;[ada, eve] = [await api.signUp(), await api.signUp()]
  ;[adas, eves] = [await fill(ada), await fill(eve)]
})
afterAll(() => api.close())

/** One record of each kind. */
async function fill(workspace: TestWorkspace): Promise<Ids> {
  const { id, key } = workspace
  const make = async (path: string, body: Json) => String((await api.create(path, key, body))['id'])
  const makeContact = () => make('/contacts', { email: freshEmail() })
  const list = await make('/lists', { name: 'Letter', doubleOptIn: false })
  await make('/custom-fields', { key: 'stays', label: 'Stays', type: 'TEXT' })
  await make('/invites', { email: freshEmail(), role: 'VIEWER' })
  await api.call('POST', `/public/lists/${list}/subscribe`, { body: { email: 'both@example.com' } })
  return {
    workspace: id,
    list,
    contact: await make('/contacts', { email: freshEmail(), tags: ['secret'] }),
    campaign: await make('/campaigns', { name: 'a', subject: 'b', listId: list }),
    webhook: await make('/webhooks', { url: 'https://example.com', eventTypes: ['contact.deleted'] }),
    apiKey: await make('/api-keys', { name: 'to be revoked', role: 'VIEWER' }),
    invite: await make('/invites', { email: freshEmail(), role: 'MEMBER' }),
    member: (await api.join(workspace, 'VIEWER')).id,
    session: await openAnotherSession(workspace),
    duplicates: [await makeContact(), await makeContact(), await makeContact()],
    customField: await make('/custom-fields', { key: 'plan', label: 'Plan', type: 'TEXT' }),
    import: String((await api.call('POST', '/contacts/import', { key, ...aFile })).body['id']),
  }
}

/** Answers its id. */
async function openAnotherSession({ email, password, token }: TestWorkspace): Promise<string> {
  await api.call('POST', '/auth/login', { body: { email, password } })
  const { body } = await api.call<{ data: { id: string }[] }>('GET', '/sessions', { key: token })
  return body.data[0]?.id ?? ''
}

/** Every row of the workspace that has this key, in every table that there is. */
async function readEverything(key = '') {
  const tables = await api.query(
    `select table_name as name from information_schema.columns where column_name = 'workspace_id' order by 1`,
  )
  expect(tables.length).toBeGreaterThan(10)
  const rows: Json = {}
  for (const { name } of tables) {
    rows[String(name)] = await api.query(
      `select to_jsonb(t) - 'last_used_at' as row from ${String(name)} t
       where workspace_id = (select workspace_id from api_keys where prefix = $1) order by t::text`,
      [key.slice(0, 10)],
    )
  }
  expect(rows).toMatchObject({ contacts: [{}, {}, {}, {}, {}], lists: [{}], campaigns: [{}], webhooks: [{}] })
  return rows
}

/** All that a caller can tell two answers apart by. */
function told({ status, text, headers }: Answer<unknown>) {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, text, headers: rest }
}

const call = (method: string, { path, ...sent }: Request, key: string | undefined) =>
  api.call(method, path, { key: key ?? '', ...sent })

test('every operation that takes a credential is covered here: a new one must say how it names records', () => {
  expect(Object.keys(cases).toSorted()).toEqual(
    secured.map(({ method, template }) => `${method} ${template}`).toSorted(),
  )
  for (const [name, makers] of Object.entries(cases)) {
    expect(`${name} ${name.includes('{') && makers.length === 0 ? 'names no record' : 'is covered'}`).toMatch(
      /is covered$/,
    )
  }
})

test('every field of a body that names a record is covered', async () => {
  const { text } = await api.call('GET', '/openapi.json')
  const { paths } = JSON.parse(text) as {
    paths: Record<
      string,
      Record<string, { requestBody?: { content: Record<string, { schema: { properties?: Record<string, object> } }> } }>
    >
  }
  for (const [template, methods] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const makers = cases[`${method.toUpperCase()} ${template}`]
      const fields = Object.keys(requestBody?.content['application/json']?.schema.properties ?? {})
      const naming = makers ? fields.filter((field) => /Ids?$/.test(field)) : []
      const covered = (makers ?? []).flatMap((make) => Object.keys(make(nobodys, nobodys).body ?? {}))
      expect([template, naming.filter((field) => !covered.includes(field))]).toEqual([template, []])
    }
  }
})

test('without a credential, with one that is none or with one that was revoked, every operation is a 401', async () => {
  const { id, key } = await api.create<CreatedApiKey>('/api-keys', ada?.token ?? '', { name: 'revoked', role: 'ADMIN' })
  await api.call('DELETE', `/api-keys/${id}`, { key: ada?.token ?? '' })
  const { token } = await api.signUp()
  await api.call('POST', '/auth/logout', { key: token })
  const before = await readEverything(ada?.key)
  for (const { method, template, path, example } of secured) {
    const own = cases[`${method} ${template}`]?.[0]?.(adas ?? nobodys, adas ?? nobodys) ?? { path, body: example }
    const answers = [
      await api.call(method, own.path, { ...('body' in own && { body: own.body }) }),
      await call(method, own, 'rpk_'),
      await call(method, own, 'null'),
      await call(method, own, key),
      await call(method, own, token),
      // Not even what is wrong with the rest is told to who has no credential.
      await api.call(method, `${path}?nonsense=1`, { raw: '{bad', headers: { 'content-type': 'text/plain' } }),
    ]
    for (const answer of answers) {
      expect(`${method} ${template}: ${answer.status}`).toBe(`${method} ${template}: 401`)
      expectError(answer, 401, 'Missing or invalid credential')
      expect(answer.headers['www-authenticate']).toBe('Bearer')
    }
  }
  expect(await readEverything(ada?.key)).toEqual(before)
})

test("another's record is answered as one that is not there, to the byte, on every operation, and nothing is changed", async () => {
  if (!adas || !eves) throw new Error('There are no records')
  const before = await readEverything(ada?.key)
  for (const [name, makers] of Object.entries(cases)) {
    const [method = ''] = name.split(' ')
    for (const [index, make] of makers.entries()) {
      const missing = await call(method, make(nobodys, eves), eve?.token)
      const foreign = await call(method, make(adas, eves), eve?.token)
      expect({ name, index, ...told(foreign) }).toEqual({ name, index, ...told(missing) })
      expect(`${name}: ${foreign.status}`).toMatch(/: (200|400|404)$/)
    }
  }
  expect(await readEverything(ada?.key)).toEqual(before)
  // The same requests mean something to whom the records belong to.
  for (const [name, makers] of Object.entries(cases)) {
    const [method = ''] = name.split(' ')
    for (const [index, make] of makers.entries()) {
      const own = await call(method, make(adas, adas), ada?.token)
      expect(`${name} ${index}: ${own.status} ${own.text}`).toMatch(/: 20[0124] |: 409 Only a DRAFT/)
    }
  }
})

test('a listing shows what is of its own workspace alone', async () => {
  for (const { method, template } of secured) {
    if (method !== 'GET' || template.includes('{')) continue
    const [own, foreign] = [
      await api.call('GET', template, { key: ada?.token ?? '' }),
      await api.call('GET', template, { key: eve?.token ?? '' }),
    ]
    const idsIn = (text: string) => new Set(text.match(/[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}/g))
    expect([template, [...idsIn(own.text)].filter((id) => idsIn(foreign.text).has(id))]).toEqual([template, []])
    expect(`${template} ${idsIn(own.text).size}`).not.toMatch(/ 0$/)
  }
})

test('a person in both workspaces sees in each session what is of its workspace', async () => {
  await api.query(
    `insert into members (workspace_id, user_id, role)
     select (select workspace_id from api_keys where prefix = $1), id, 'MEMBER' from users where email = $2`,
    [eve?.key.slice(0, 10), ada?.email],
  )
  const logIn = async (workspaceId: string | undefined) =>
    (await api.call('POST', '/auth/login', { body: { email: ada?.email, password: ada?.password, workspaceId } })).body
  for (const [workspace, mine, theirs] of [
    [ada, adas, eves],
    [eve, eves, adas],
  ] as const) {
    const key = String((await logIn(workspace?.id))['token'])
    expect(await api.call('GET', `/contacts/${mine?.contact}`, { key })).toMatchObject({ status: 200 })
    expectError(await api.call('GET', `/contacts/${theirs?.contact}`, { key }), 404)
  }
})

test('the same person in two workspaces is two contacts: a sign-up in one leaves the other alone', async () => {
  const find = async (workspace: TestWorkspace | undefined) =>
    (await api.call<{ data: Json[] }>('GET', '/contacts?email=both@example.com', { key: workspace?.key ?? '' })).body
      .data
  const [mine, theirs] = [await find(ada), await find(eve)]
  expect([mine.length, theirs.length]).toEqual([1, 1])
  expect(mine[0]?.['id']).not.toBe(theirs[0]?.['id'])
  const body = { email: 'both@example.com', firstName: 'Changed' }
  expect(await api.call('POST', `/public/lists/${eves?.list}/subscribe`, { body })).toMatchObject({ status: 202 })
  expect(await find(ada)).toEqual(mine)
  expect(await find(eve)).toMatchObject([{ firstName: 'Changed' }])
})
