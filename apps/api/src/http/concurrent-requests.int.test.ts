import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { request } from 'node:http'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { callMethod } from '../../test/mcp.ts'
import {
  countStatuses,
  expectError,
  freshEmail,
  startTestApi,
  type TestApi,
  type TestWorkspace,
} from '../../test/testing.ts'

/** Its requests wait longer than by default: a busy cluster takes 15 seconds for 200 changes of one contact. */
const api = useForFile(() => startTestApi({ timings: { maxWaitMs: 60_000 } }))
/** Its requests do not wait. */
const impatientApi = useForFile(() =>
  startTestApi({ timings: { maxWaitMs: 0, quotaTtlMs: 200, aloneAfterMs: 600_000 } }),
)
const address = useForFile(() => impatientApi.listen())

/** Locks a contact, so that requests that change it hold until the lock is released. */
async function lockContact(api: TestApi, { key, id: workspaceId }: TestWorkspace) {
  const { id } = await api.create<{ id: string }>('/contacts', key, { email: freshEmail() })
  const transaction = await openTransaction(api.database.db, (db) =>
    db.execute(`select from contacts where workspace_id = '${uuidOf(Id('wsp').parse(workspaceId))}' for update`),
  )
  const change = (n: number) => api.call('PATCH', `/contacts/${id}`, { key, body: { firstName: `Ada ${n}` } })
  return { id, change, unlock: () => transaction.commit() }
}
const startMany = (count: number, start: (n: number) => Promise<{ status: number }>) =>
  Promise.all(Array.from({ length: count }, (_, n) => start(n)))

test('200 requests that hold do not delay the request of another workspace', async () => {
  const [busy, quiet] = [await api.signUp(), await api.signUp()]
  const { change, unlock } = await lockContact(api, busy)
  const held = startMany(200, change)
  // Half of the connections that the transaction of this test leaves.
  await waitUntilBlocked(api.database.db, 5)
  const contact = { key: quiet.key, body: { email: freshEmail() } }
  expect(await api.call('POST', '/contacts', contact)).toMatchObject({ status: 201 })
  expect(await api.call('GET', '/contacts', { key: quiet.key })).toMatchObject({ status: 200 })
  await waitUntilBlocked(api.database.db, 5)
  await unlock()
  expect(countStatuses(await held)).toEqual({ 200: 200 })
})

test('of 45 requests 40 run, and the others get 503 after the wait', async () => {
  const workspace = await impatientApi.signUp()
  const { change, unlock } = await lockContact(impatientApi, workspace)
  const held = startMany(40, change)
  await waitUntilBlocked(impatientApi.database.db, 5)
  const refused = await startMany(5, change)
  expect(countStatuses(refused)).toEqual({ 503: 5 })
  const response = await change(0)
  expect(expectError(response, 503).code).toBe('unavailable')
  expect(response.headers['retry-after']).toBe('1')
  await unlock()
  expect(countStatuses(await held)).toEqual({ 200: 40 })
  expect(await change(1)).toMatchObject({ status: 200 })
})

test('of 5 requests with a large body 4 run, and a small one runs beside them', async () => {
  const workspace = await impatientApi.signUp()
  const { id, change, unlock } = await lockContact(impatientApi, workspace)
  const raw = `{"firstName":"Ada"}${' '.repeat(300_000)}`
  const changeLarge = () => impatientApi.call('PATCH', `/contacts/${id}`, { key: workspace.key, raw })
  const held = startMany(4, changeLarge)
  await waitUntilBlocked(impatientApi.database.db, 4)
  expectError(await changeLarge(), 503)
  const small = change(0)
  await unlock()
  expect(countStatuses([...(await held), await small])).toEqual({ 200: 5 })
  expect(await changeLarge()).toMatchObject({ status: 200 })
})

/** Reads that hold until the transaction is committed. */
const lockContacts = ({ database: { db } }: TestApi) => openTransaction(db, (db) => db.execute('lock table contacts'))

test('of expensive reads two run beside another workspace, and cheap reads go on', async () => {
  const [{ key }, other] = [await impatientApi.signUp(), await impatientApi.signUp()]
  const get = (path: string) => impatientApi.call('GET', path, { key })
  const lock = await lockContacts(impatientApi)
  const held = [get('/contacts?search=Ada'), get('/contacts?tag=vip')]
  await waitUntilBlocked(impatientApi.database.db, 2)
  await impatientApi.call('GET', '/lists', { key: other.key })
  const deliveries = '/webhooks/whk_01kag7m3v9e8fs2t4w6x8y0z1b/deliveries'
  for (const path of ['/contacts?count=true', '/contacts?sort=email', '/workspace/usage', `${deliveries}?type=x`]) {
    expect(expectError(await get(path), 503).message).toContain('too many concurrent requests')
  }
  const tool = { name: 'search_contacts', arguments: { search: 'Ada' } }
  expectError(await callMethod(impatientApi, key, { method: 'tools/call', params: tool }), 503)
  expect(await get('/lists')).toMatchObject({ status: 200 })
  await lock.commit()
  expect(countStatuses(await Promise.all(held))).toEqual({ 200: 2 })
  expect(await get('/contacts?search=Ada')).toMatchObject({ status: 200 })
})

const loneApi = useForFile(() => startTestApi({ timings: { maxWaitMs: 0 } }))

test('the expensive reads of a workspace that is alone have no limit of their own', async () => {
  const { key } = await loneApi.signUp()
  const lock = await lockContacts(loneApi)
  const held = startMany(4, () => loneApi.call('GET', '/contacts?search=Ada', { key }))
  await waitUntilBlocked(loneApi.database.db, 4)
  await lock.commit()
  expect(countStatuses(await held)).toEqual({ 200: 4 })
})

test('requests that fail release their slot', async () => {
  const { key } = await impatientApi.signUp()
  const fail = () => impatientApi.call('POST', '/contacts', { key, body: { email: 'nonsense' } })
  for (let round = 0; round < 3; round++) expect(countStatuses(await startMany(40, fail))).toEqual({ 400: 40 })
  const malformed = () => impatientApi.call('POST', '/contacts', { key, raw: '{' })
  for (let round = 0; round < 3; round++) expect(countStatuses(await startMany(40, malformed))).toEqual({ 400: 40 })
  expect(await impatientApi.call('GET', '/contacts', { key })).toMatchObject({ status: 200 })
})

/** A request that needs a slot, but no connection to the database. Returns whether it got a slot. */
async function getsSlot({ key }: TestWorkspace): Promise<boolean> {
  const { status } = await impatientApi.call('POST', '/contacts', { key, raw: '{' })
  return status === 400
}

/** Opens 40 connections and sends the headers of a request with a body of 100 bytes. */
function openClients({ key }: TestWorkspace, { method, path }: { method: string; path: string }) {
  const { port } = address
  return Array.from({ length: 40 }, (_, n) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': 100,
      'x-forwarded-for': `10.1.0.${n}`,
    }
    const client = request({ port, method, path, headers })
    client.on('error', () => {})
    client.flushHeaders()
    return client
  })
}

/** Opens 40 connections that take every slot of the workspace. Without a body, the API waits for it. */
async function takeAllSlots(
  workspace: TestWorkspace,
  { method, path, body }: { method: string; path: string; body?: string },
) {
  const clients = openClients(workspace, { method, path })
  if (body !== undefined) for (const client of clients) client.end(body.padEnd(100))
  await waitUntil(async () => !(await getsSlot(workspace)), { describe: 'every slot is taken' })
  return () => clients.forEach((client) => client.destroy())
}

test('a running request of a client that went away keeps its slot', async () => {
  const workspace = await impatientApi.signUp()
  const { id, unlock } = await lockContact(impatientApi, workspace)
  const destroy = await takeAllSlots(workspace, {
    method: 'PATCH',
    path: `/contacts/${id}`,
    body: '{"lastName":"Gone"}',
  })
  await waitUntilBlocked(impatientApi.database.db, 5)
  destroy()
  expect(await getsSlot(workspace)).toBe(false)
  await unlock()
  await waitUntil(() => getsSlot(workspace), { describe: 'the slots are free again' })
})

test('a client that goes away while its body is awaited releases its slot', async () => {
  const workspace = await impatientApi.signUp()
  const destroy = await takeAllSlots(workspace, { method: 'POST', path: '/contacts' })
  destroy()
  await waitUntil(() => getsSlot(workspace), { describe: 'the slots are free again' })
})

test('uploads and exports do not count', async () => {
  const workspace = await impatientApi.signUp()
  const { key } = workspace
  const destroy = await takeAllSlots(workspace, { method: 'POST', path: '/contacts' })
  expect(await impatientApi.call('GET', '/contacts/export', { key })).toMatchObject({ status: 200 })
  const file = { raw: 'email\nada@example.com\n', headers: { 'content-type': 'text/csv' } }
  expect(await impatientApi.call('POST', '/contacts/import', { key, ...file })).toMatchObject({ status: 202 })
  destroy()
})

test('a waiting request is served when another one ends', async () => {
  const workspace = await api.signUp()
  const { change, unlock } = await lockContact(api, workspace)
  const held = startMany(41, change)
  await waitUntilBlocked(api.database.db, 5)
  const { port } = await api.listen()
  const headers = { authorization: `Bearer ${workspace.key}` }
  const client = request({ port, path: '/contacts', headers })
  const closed = new Promise((resolve) => client.on('error', resolve))
  client.end()
  client.on('socket', (socket) => socket.on('connect', () => client.destroy()))
  await closed
  await unlock()
  expect(countStatuses(await held)).toEqual({ 200: 41 })
})

test('clients that go away while their key is checked take no slot', async () => {
  const workspace = await impatientApi.signUp()
  const lock = await openTransaction(impatientApi.database.db, (db) => db.execute('lock table api_keys'))
  const { server } = impatientApi.app
  const countConnections = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
  const clients = openClients(workspace, { method: 'POST', path: '/contacts' })
  await waitUntil(async () => (await countConnections()) === 40, { describe: 'all clients are connected' })
  await waitUntilBlocked(impatientApi.database.db)
  for (const client of clients) client.destroy()
  await waitUntil(async () => (await countConnections()) === 0, { describe: 'all clients are gone' })
  await lock.commit()
  expect(await getsSlot(workspace)).toBe(true)
})

test('reads of a workspace without a free connection do not delay reads of another', async () => {
  const [busy, quiet] = [await api.signUp(), await api.signUp()]
  const contact = await api.create<{ id: string }>('/contacts', quiet.key, { email: freshEmail() })
  const { id, change, unlock } = await lockContact(api, busy)
  const held = startMany(30, change)
  await waitUntilBlocked(api.database.db, 5)
  const reading = startMany(5, () => api.call('GET', `/contacts/${id}`, { key: busy.key }))
  const read = await startMany(5, () => api.call('GET', `/contacts/${contact.id}`, { key: quiet.key }))
  await unlock()
  expect(countStatuses(read)).toEqual({ 200: 5 })
  expect(countStatuses(await reading)).toEqual({ 200: 5 })
  await held
})

test('a change of the quota of a workspace takes effect when the cached one expires', async () => {
  const workspace = await impatientApi.signUp()
  const destroy = await takeAllSlots(workspace, { method: 'POST', path: '/contacts' })
  await impatientApi.query(`update workspaces set quotas = '{"requests": 0}'`)
  await waitUntil(() => getsSlot(workspace), { describe: 'there is no limit' })
  destroy()
})
