/** Sends the requests of a noisy tenant, until its parent process stops it. */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, send } from './campaigns.ts'
import { toCsv } from './import-file.ts'
import { makeNoise } from './noise.ts'
import type { Tenant } from './noisy-tenant.ts'

makeNoise((tenant: Tenant, isStopped) => {
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
  return Promise.all([
    ...readers,
    ...Array.from({ length: 5 }, () => repeat(() => startImport(tenant), 200)),
    ...Array.from({ length: 4 }, () => repeat(() => stallExport(tenant, isStopped), 200)),
    repeat(async () => send(tenant, await createCampaign(tenant, tenant.listId)), 2_000),
    repeat((n) => tolerate(tenant, `/contacts?search=${n}`, { email: `noise-${Date.now()}-${n}@example.com` })),
  ])
})

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
