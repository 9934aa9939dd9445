/** A streaming replica serves slow reads, and never returns older data than the primary. */
import { openReplica, type Replica } from '@rapport/core/db/read-replica.ts'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '@rapport/testing/postgres/replicated-postgres.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { cases, fillWorkspace } from './isolation-cases.ts'
import { freshEmail, startTestApi, type TestApi, type TestWorkspace } from './testing.ts'

let servers: ReplicatedPostgres
let replica: Replica
let api: TestApi
let workspace: TestWorkspace
const log: string[] = []
const open = (url: string) =>
  openReplica(url, {
    primary: servers.database,
    applicationName: 'rapport test',
    log: { info: (line) => void log.push(line), warn: (line) => void log.push(line) },
  })

beforeAll(async () => {
  servers = await startReplicatedPostgres()
  replica = open(servers.replicaUrl)
  api = await startTestApi({ database: servers.database, replica })
  workspace = await api.signUp()
})
beforeEach(async () => {
  await waitUntil(isUsed, { describe: 'the replica is used' })
  log.splice(0)
})
afterAll(async () => {
  await replica.close()
  await api.close()
  await servers.close()
})

interface Listed {
  data: { email: string }[]
}
const write = async () => {
  const { email } = await api.create<{ email: string }>('/contacts', workspace.key, { email: freshEmail() })
  return email
}
const list = () => api.call<Listed>('GET', '/contacts?limit=1', { key: workspace.key })
const wasReplicaRead = async () => /from "?contacts\b/.test(await servers.takeStatements())
/** Whether a listing reads from the replica. After a pause, an unavailable replica is tried again. */
const isUsed = async () => {
  await list()
  return wasReplicaRead()
}

test('the replica immediately lists and exports a new record', async () => {
  for (let n = 0; n < 30; n += 1) {
    const email = await write()
    expect((await list()).body.data[0]?.email).toBe(email)
  }
  const counted = await api.call('GET', '/contacts?limit=1&count=true', { key: workspace.key })
  expect(counted.body).toMatchObject({ total: 30, isEstimate: false })
  expect(await wasReplicaRead()).toBe(true)
  const email = await write()
  const exported = await api.call('GET', '/contacts/export?format=ndjson', { key: workspace.key })
  expect(exported.text).toContain(email)
  expect(await servers.takeStatements()).toContain('declare snapshot no scroll cursor for select "contacts".')
  expect(log).toEqual([])
})

test('while the replica lags, reads use the primary, and one warning is logged', async () => {
  await servers.pauseReplay()
  const written = []
  for (let n = 0; n < 5; n += 1) {
    const email = await write()
    written.push(email)
    expect((await list()).body.data[0]?.email).toBe(email)
  }
  const exported = await api.call('GET', '/contacts/export?format=csv', { key: workspace.key })
  for (const email of written) expect(exported.text).toContain(email)
  expect(await wasReplicaRead()).toBe(false)
  await servers.resumeReplay()
  await waitUntil(isUsed, { describe: 'the replica is used again' })
  expect(log).toEqual(['replica not used, reading from the primary: it is behind the primary', 'replica in use again'])
})

test('while the replica is unavailable, reads use the primary', async () => {
  await servers.stopReplica()
  const email = await write()
  expect((await list()).body.data[0]?.email).toBe(email)
  expect((await api.call('GET', '/contacts/export?format=csv', { key: workspace.key })).text).toContain(email)
  await servers.startReplica()
  await waitUntil(isUsed, { describe: 'the replica is used again', timeoutMs: 10_000 })
  expect(log).toHaveLength(2)
})

test('a read canceled by a recovery conflict falls back to the primary', async () => {
  await write()
  await waitUntil(isUsed, { describe: 'the replica has the contact' })
  const broken = replica.read((db) => db.execute('select pg_sleep(10) from contacts'))
  await waitUntil(async () => (await servers.takeStatements()).includes('pg_sleep'), {
    describe: 'the query is running',
  })
  await servers.database.pool.query(`delete from contacts where id = (select max(id::text)::uuid from contacts)`)
  await servers.database.pool.query('vacuum contacts')
  expect(await broken).toBeUndefined()
  expect(log[0]).toContain('replica not used')
  await waitUntil(isUsed, { describe: 'the replica is used again' })
})

test('a server that is not a replica of the primary is never read', async () => {
  const unrelated = await createTestDatabase()
  for (const url of [unrelated.url, servers.database.url]) {
    const wrong = open(url)
    expect(await wrong.read(() => Promise.resolve('wrong'))).toBeUndefined()
    expect(await wrong.connect()).toBeUndefined()
    await wrong.close()
  }
  await unrelated.close()
  expect(log).toEqual([
    'replica not used, reading from the primary: it is not a replica of the server at DATABASE_URL',
    'replica not used, reading from the primary: it is not a replica',
  ])
})

test('every read for the replica works there, and errors are unchanged', async () => {
  const { key } = workspace
  const make = async (path: string, body: object) => (await api.create<{ id: string }>(path, key, body)).id
  const contact = await make('/contacts', { email: freshEmail() })
  const listId = await make('/lists', { name: 'Newsletter' })
  const campaign = await make('/campaigns', { name: 'News', subject: 'News', listId })
  const webhook = await make('/webhooks', { url: 'https://example.com', eventTypes: ['*'] })
  const form = await make('/forms', { name: 'Form', fields: [{ label: 'Email', type: 'EMAIL' }] })
  const pipeline = await make('/pipelines', { name: 'Sales', stages: [{ name: 'Lead', winProbability: 10 }] })
  const paths = [
    '/contacts',
    '/contacts?search=person',
    `/contacts?listId=${listId}`,
    `/contacts/${contact}/activity`,
    `/contacts/${contact}/tasks`,
    `/lists/${listId}/subscribers`,
    `/campaigns/${campaign}/stats`,
    `/campaigns/${campaign}/recipients`,
    `/webhooks/${webhook}/deliveries`,
    `/forms/${form}/submissions`,
    `/pipelines/${pipeline}/summary`,
    '/deals',
    '/tasks',
  ]
  for (const path of paths) {
    await servers.takeStatements()
    expect([path, (await api.call('GET', path, { key })).status]).toEqual([path, 200])
    expect([path, /begin.*read only/.test(await servers.takeStatements())]).toEqual([path, true])
  }
  await api.call('DELETE', `/webhooks/${webhook}`, { key })
  const gone = await api.call('GET', `/webhooks/${webhook}/deliveries`, { key })
  expect(gone.status).toBe(404)
  expect(log).toEqual([])
})

test('every GET operation works with a replica', async () => {
  const own = await fillWorkspace(api, workspace)
  for (const [name, makers] of Object.entries(cases).filter(([name]) => name.startsWith('GET '))) {
    for (const { path } of makers.map((make) => make(own, own))) {
      const { status } = await api.call('GET', path, { key: workspace.token })
      // 404: the contact is not subscribed to the list.
      expect([name, status]).toEqual([name, name === 'GET /lists/{id}/subscribers/{contactId}' ? 404 : 200])
    }
  }
  expect(log).toEqual([])
})
