/** A workspace that uses everything at once, as much as its quotas allow. */
import { createList } from './campaigns.ts'
import { insertContacts } from './contacts.ts'
import { call, type Installation, type Server } from './installation.ts'

/** What the process of the noise needs to know. */
export interface Tenant {
  api: Pick<Server, 'url'>
  workspace: { key: string }
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
  const tenant = {
    api: { url: api.url },
    workspace: { key: workspace.key },
    rows: isQuick ? 500 : 100_000,
    connections: isQuick ? 10 : 100,
  }
  await insertContacts(installation, workspace, isQuick ? 1_000 : 200_000)
  const post = (path: string, body: object) => call<{ id: string }>(api, workspace.key, [`POST ${path}`, body])
  const options = Array.from({ length: 30 }, (_, n) => `Option ${n}`)
  for (let n = 0; n < (isQuick ? 10 : 150); n += 1) {
    await post('/custom-fields', { key: `field${n}`, label: 'Field', type: 'SELECT', options })
  }
  for (let n = 0; n < (isQuick ? 2 : 50); n += 1) {
    await post('/webhooks', { url: `${receiverUrl}/${n % 5 === 0 ? 'hang' : n}`, eventTypes: ['*'] })
  }
  const listId = await createList(installation, { api, workspace }, { name: 'noise', count: isQuick ? 100 : 20_000 })
  const html = `<p>${'x'.repeat(1000 * kilobyte)}</p>`
  for (let n = 0; n < (isQuick ? 2 : 200); n += 1) {
    await post('/campaigns', { name: `Body ${n}`, subject: 'Body', html, listId })
  }
  return { ...tenant, listId }
}
