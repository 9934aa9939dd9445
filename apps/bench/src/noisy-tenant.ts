/** A workspace that uses everything at once, as much as its quotas allow. */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, createList, send } from './campaigns.ts'
import { insertContacts } from './contacts.ts'
import { toCsv } from './import-file.ts'
import { call, type Installation, type Server, type Workspace } from './installation.ts'

interface Tenant {
  api: Server
  workspace: Workspace
  listId: string
  /** The rows of each import. */
  rows: number
  /** The requests that are sent at once. */
  connections: number
}

const kilobyte = 1024

/** Fills a workspace with much of what its quotas allow. */
export async function createNoisyTenant(
  installation: Installation,
  api: Server,
  { receiverUrl, isQuick }: { receiverUrl: string; isQuick: boolean },
): Promise<Tenant> {
  const workspace = await installation.createWorkspace()
  const tenant = { api, workspace, rows: isQuick ? 500 : 100_000, connections: isQuick ? 10 : 100 }
  await insertContacts(installation, workspace, isQuick ? 1_000 : 200_000)
  const post = (path: string, body: object) => call<{ id: string }>(api, workspace.key, [`POST ${path}`, body])
  const options = Array.from({ length: 30 }, (_, n) => `Option ${n}`)
  for (let n = 0; n < (isQuick ? 10 : 150); n += 1) {
    await post('/custom-fields', { key: `field${n}`, label: 'Field', type: 'SELECT', options })
  }
  for (let n = 0; n < (isQuick ? 2 : 50); n += 1) {
    await post('/webhooks', { url: `${receiverUrl}/${n % 5 === 0 ? 'hang' : n}`, eventTypes: ['*'] })
  }
  const listId = await createList(installation, tenant, { name: 'noise', count: isQuick ? 100 : 20_000 })
  const html = `<p>${'x'.repeat(1000 * kilobyte)}</p>`
  for (let n = 0; n < (isQuick ? 2 : 200); n += 1) {
    await post('/campaigns', { name: `Body ${n}`, subject: 'Body', html, listId })
  }
  return { ...tenant, listId }
}

/** Starts to use everything at once. `stop` waits until no request is under way. */
export function startNoise(tenant: Tenant): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const isStopped = () => stopping.signal.aborted
  const repeat = async (work: (n: number) => Promise<unknown>, pauseMs = 0) => {
    for (let n = 0; !isStopped(); n += 1) {
      // A quota or a rate limit refuses many of these requests.
      await work(n).catch(() => undefined)
      await sleep(pauseMs)
    }
  }
  const readers = Array.from({ length: tenant.connections }, (_, reader) =>
    repeat((n) => tolerate(tenant, paths[(reader + n) % paths.length] ?? '')),
  )
  const work = [
    ...readers,
    ...Array.from({ length: 5 }, () => repeat(() => startImport(tenant), 200)),
    ...Array.from({ length: 4 }, () => repeat(() => stallExport(tenant, isStopped), 200)),
    repeat(async () => send(tenant, await createCampaign(tenant, tenant.listId)), 2_000),
    repeat((n) => tolerate(tenant, `/contacts?search=${n}`, { email: `noise-${Date.now()}-${n}@example.com` })),
  ]
  return {
    async stop() {
      stopping.abort()
      await Promise.all(work)
    },
  }
}

const paths = [
  '/campaigns?limit=100',
  '/events?limit=100',
  '/custom-fields?limit=100',
  '/contacts?search=Ada&limit=100',
  `/contacts?${Array.from({ length: 13 }, (_, n) => `customField.field${n}=Option%201`).join('&')}`,
  '/contacts?sort=email&limit=100&count=true',
  '/workspace/usage',
]

let requests = 0

/** Sends a request and ignores how it ends. A body makes it a creation of a contact. */
async function tolerate({ api, workspace }: Tenant, path: string, contact?: object): Promise<void> {
  requests += 1
  const response = await fetch(api.url + (contact ? '/contacts' : path), {
    method: contact ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${workspace.key}`,
      // Many addresses: the rate limit of one address would end the noise.
      'x-forwarded-for': `12.${(requests >> 16) & 255}.${(requests >> 8) & 255}.${requests & 255}`,
      ...(contact && { 'content-type': 'application/json' }),
    },
    ...(contact && { body: JSON.stringify(contact) }),
  })
  await response.arrayBuffer()
}

async function startImport({ api, workspace, rows }: Tenant): Promise<void> {
  const response = await fetch(`${api.url}/contacts/import?onConflict=update`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'text/csv' },
    body: Buffer.concat([...toCsv({ count: rows })]),
  })
  await response.arrayBuffer()
}

/** Starts an export and reads nothing of it, until the server ends it or the noise stops. */
async function stallExport({ api, workspace }: Tenant, isStopped: () => boolean): Promise<void> {
  const outgoing = request(`${api.url}/contacts/export`, { headers: { authorization: `Bearer ${workspace.key}` } })
  outgoing.on('error', () => {}).end()
  while (!outgoing.closed && !isStopped()) await sleep(100)
  outgoing.destroy()
}
