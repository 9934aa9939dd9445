/** What programs send where nothing is meant, and where nothing is lost if it is read so. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { tools } from '../src/mcp/tools.ts'
import { aTemplate } from './isolation-campaigns.ts'
import { createParents, listings, pathOf } from './listings.ts'
import { callTool } from './mcp.ts'
import { createRecords, type Pool, withKnownIds } from './records.ts'
import { expectError, freshEmail, type Json, type Operation, operationsOf, startTestApi } from './testing.ts'

interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  required?: string[]
}
interface Document {
  paths: Record<
    string,
    Record<string, { parameters?: { name: string }[]; requestBody?: { content: Record<string, { schema: Schema }> } }>
  >
  components: { schemas: Record<string, Schema> }
}

const api = useForFile(() => startTestApi({ environment: { QUOTA_MAILS_PER_ADDRESS: '100' } }))
const workspace = useForFile(() => api.signUp())
const parents = useForFile(() => createParents(api, workspace))
let document: Document
let operations: Operation[]
let pool: Pool
beforeAll(async () => {
  document = (await api.call<Document>('GET', '/openapi.json')).body
  operations = await operationsOf(api)
  pool = (await createRecords(api, workspace.key, operations)).pool
})

const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})

test('null for an optional field of a POST is as if the field were left out', async () => {
  const tried: string[] = []
  for (const operation of operations.filter(({ method }) => method === 'POST')) {
    const { method, template, isSecured, example } = operation
    const schema = document.paths[template]?.['post']?.requestBody?.content['application/json']?.schema
    if (!schema || template === '/mcp' || template.startsWith('/mail-events')) continue
    const { properties = {}, required = [] } = resolve(schema)
    const optional = Object.keys(properties).filter((name) => !required.includes(name))
    const known = JSON.parse(withKnownIds(pool, JSON.stringify(example ?? {}))) as Json
    const send = (body: Json) =>
      api.call(method, withKnownIds(pool, operation.path), { body, ...(isSecured && { key: workspace.token }) })
    for (const name of optional) {
      const { [name]: _, ...without } = known
      const given = async (body: Json) => {
        const { status, body: response } = await send('email' in known ? { ...body, email: freshEmail() } : body)
        return [`${method} ${template} ${name}`, status, status < 400 ? undefined : response['issues']]
      }
      expect(await given({ ...without, [name]: null })).toEqual(await given(without))
      tried.push(`${template} ${name}`)
    }
  }
  const expected = ['/contacts firstName', '/contacts tags', '/contacts/{contactId}/tasks notes', '/campaigns text']
  expect(tried).toEqual(expect.arrayContaining(expected))
  expect(tried.length).toBeGreaterThan(40)
})

test('null as a condition of a filter is an error, and nothing is stored', async () => {
  const count = async () => {
    const [segments, webhooks] = await Promise.all(
      ['/segments', '/webhooks'].map((path) => api.call<{ data: Json[] }>('GET', path, { key: workspace.key })),
    )
    return [segments?.body.data.length, webhooks?.body.data.length]
  }
  const before = await count()
  const hook = { url: 'https://hooks.example/x', eventTypes: ['contact.updated'] }
  for (const [path, body, at] of [
    ['/segments', { name: 'Null', filter: { company: { domain: null } } }, 'filter.company.domain'],
    ['/segments', { name: 'Null', filter: { company: { nmae: null } } }, 'filter.company.nmae'],
    ['/segments/preview', { filter: { company: { domain: null } } }, 'filter.company.domain'],
    ['/webhooks', { ...hook, filter: { changed: ['email'], source: null } }, 'filter.source'],
  ] as const) {
    const response = await api.call('POST', path, { key: workspace.key, body })
    expect([path, response.status, response.body['issues']]).toMatchObject([path, 400, [{ path: at }]])
  }
  const args = { filter: { company: { domain: null } } }
  expect((await callTool(api, workspace.key, { name: 'preview_segment', args })).isError).toBe(true)
  expect(await count()).toEqual(before)
})

test('null in a PATCH clears what is nullable, and is an error otherwise', async () => {
  const { id } = await api.create('/contacts', workspace.key, {
    email: freshEmail(),
    company: 'Acme',
    firstName: 'Ada',
  })
  const change = (body: Json) => api.call('PATCH', `/contacts/${String(id)}`, { key: workspace.key, body })
  expect(await change({ company: null })).toMatchObject({ status: 200, body: { company: null, firstName: 'Ada' } })
  expectError(await change({ firstName: null }), 400, 'firstName: must be a string')
})

test.each(listings)('%s: an empty cursor, search, tag or moment is none', async (template) => {
  const get = (query: string) =>
    api.call<{ data: unknown[] }>('GET', `${pathOf(template, parents)}?limit=1${query}`, { key: workspace.key })
  const { parameters = [] } = document.paths[template]?.['get'] ?? {}
  const names = parameters.map(({ name }) => name)
  const empty = names.filter((name) => /^(?:cursor|search|tag|\w+(?:After|Before))$/.test(name))
  expect(empty).toEqual(expect.arrayContaining(['cursor', 'createdAfter', 'createdBefore']))
  const [plain, emptied] = [await get(''), await get(empty.map((name) => `&${name}=`).join(''))]
  expect(emptied).toMatchObject({ status: 200, body: { data: plain.body.data } })
  expect((await get('&cursor=%20&createdAfter=%20')).status).toBe(200)
  for (const name of names.filter((one) => /Id$|^(?:email|status|emailSubscribedStatus)$/.test(one)))
    expect([name, (await get(`&${name}=`)).status]).toEqual([name, 400])
})

test('an empty tag is none', async () => {
  const one = { email: freshEmail(), tags: ['', 'empty-tag', ' '] }
  const created = await api.create('/contacts', workspace.key, one)
  expect(created['tags']).toEqual(['empty-tag'])
  const found = await api.call<{ data: Json[] }>('GET', '/contacts?tag=&tag=empty-tag', { key: workspace.key })
  expect(found.body.data.map((contact) => contact['id'])).toEqual([created['id']])
  const path = `/contacts/${String(created['id'])}`
  expectError(await api.call('POST', `${path}/tags`, { key: workspace.key, body: { tags: [''] } }), 400)
  expect(await api.call('PATCH', path, { key: workspace.key, body: { tags: [''] } })).toMatchObject({
    body: { tags: [] },
  })
})

test('an empty sender name is that of the workspace', async () => {
  const list = await api.create('/lists', workspace.key, { name: freshEmail() })
  const campaign = { name: 'News', subject: 'News', listId: list['id'], text: 'x', fromName: '' }
  const created = await api.create('/campaigns', workspace.key, campaign)
  expect(created['fromName']).toBeNull()
  expect(
    (await api.create('/templates', workspace.key, { ...aTemplate, name: freshEmail(), fromName: ' ' }))['fromName'],
  ).toBeNull()
  const path = `/campaigns/${String(created['id'])}`
  await api.call('PATCH', path, { key: workspace.key, body: { fromName: 'Ada' } })
  expect((await api.call('PATCH', path, { key: workspace.key, body: { fromName: '' } })).status).toBe(204)
  expect((await api.call('GET', path, { key: workspace.key })).body['fromName']).toBeNull()
})

test('an empty moment of a task is none', async () => {
  const contact = await api.create('/contacts', workspace.key, { email: freshEmail() })
  const task = await api.create(`/contacts/${String(contact['id'])}/tasks`, workspace.key, { title: 'Call', dueAt: '' })
  expect(task['dueAt']).toBeNull()
  const change = (dueAt: string) =>
    api.call('PATCH', `/tasks/${String(task['id'])}`, { key: workspace.key, body: { dueAt } })
  expect((await change('2026-12-01 10:00:00 +0100')).body['dueAt']).toBe('2026-12-01T09:00:00.000Z')
  expect((await change('')).body['dueAt']).toBeNull()
})

test('a moment of a segment may be written as libraries print it', async () => {
  const filter = { all: [{ field: 'createdAt', after: '2026-01-01 10:00:00+0000' }] }
  const segment = await api.create('/segments', workspace.key, { name: `Since ${freshEmail()}`, filter })
  expect(segment['filter']).toEqual({ all: [{ field: 'createdAt', after: '2026-01-01T10:00:00+00:00' }] })
  expect((await api.call('GET', `/contacts?segmentId=${String(segment['id'])}`, { key: workspace.key })).status).toBe(
    200,
  )
})

test('several spaces may follow Bearer, in any case', async () => {
  for (const scheme of ['Bearer  ', 'bearer ', 'BEARER    ']) {
    const response = await api.call('GET', '/contacts', { headers: { authorization: scheme + workspace.key } })
    expect([scheme, response.status]).toEqual([scheme, 200])
  }
  for (const scheme of ['Bearer', 'Bearer\t', 'Basic '])
    expect((await api.call('GET', '/contacts', { headers: { authorization: scheme + workspace.key } })).status).toBe(
      401,
    )
})

test('slashes before a path, or behind it, are named in the 404', async () => {
  for (const path of ['//contacts', '/contacts/', '/contacts//', '///contacts/']) {
    const response = await api.call('GET', path, { key: workspace.key })
    expect(expectError(response, 404).message).toMatch(/^Route not found: use \/contacts, without the slash at the/)
  }
  expectError(await api.call('GET', '/unknown/', { key: workspace.key }), 404, 'Route not found')
  expect((await api.call('GET', '/')).status).toBe(200)
})

test('a tool takes arguments as clients and models write them', async () => {
  const call = async (name: string, given: object) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, ...given } }
    return (await api.call('POST', '/mcp', { key: workspace.key, body })).body
  }
  const succeeded = { result: expect.not.objectContaining({ isError: true }) as unknown }
  for (const given of [{}, { arguments: null }, { arguments: '' }, { arguments: '{}' }, { arguments: '{"limit":"2"}' }])
    expect([given, await call('list_lists', given)]).toMatchObject([given, succeeded])
  expect(await call('search_contacts', { arguments: { limit: '1', tags: '', search: '' } })).toMatchObject(succeeded)
  for (const given of [
    { arguments: '[]' },
    { arguments: 'x' },
    { arguments: '{' },
    { arguments: '{"limit":1,"limit":2}' },
  ])
    expect([given, await call('list_lists', given)]).toMatchObject([given, { error: { code: -32_602 } }])
  expect(await call('list_lists', { arguments: { limit: '0' } })).toMatchObject({ result: { isError: true } })
})

test('a tool takes null and empty texts of an agent that fills in every argument', async () => {
  for (const { name, definition } of tools.filter((tool) => tool.annotations.readOnlyHint)) {
    const { properties = {}, required = [] } = definition.inputSchema as Schema
    const optional = Object.keys(properties).filter((argument) => !required.includes(argument))
    // One of the arguments of `preview_segment` is required.
    if (required.length > 0 || name === 'preview_segment') continue
    const filled = Object.fromEntries(optional.map((argument) => [argument, null]))
    const texts = optional.filter((argument) => /^(?:cursor|search|\w+(?:After|Before))$/.test(argument))
    const emptied = Object.fromEntries(texts.map((argument) => [argument, '']))
    for (const args of [filled, emptied])
      expect([name, args, await callTool(api, workspace.key, { name, args })]).toMatchObject([
        name,
        args,
        { isError: false },
      ])
  }
  const filled = { email: freshEmail(), firstName: null, tags: null, customFieldValues: null }
  expect((await callTool(api, workspace.key, { name: 'upsert_contact', args: filled })).isError).toBe(false)
})
