/**
 * Creates what each client of the list lacks: the workspace, its limit, its API key, its domain and its host. It can be stopped
 * and run again at any moment, also with more clients or another host. Prints the DNS records to publish.
 */
import type { Domain, Rapport } from '@rapport/sdk'
import { type Client, connect, forEachClient, saveKey } from './clients.ts'
import { rapport } from './rapport-command.ts'

function createWorkspace({ id, name, ownerEmail, contacts }: Client): string {
  const created = rapport('workspace', 'create', '--name', name, '--owner-email', ownerEmail, '--idempotency-key', id)
  const { workspace } = created as { workspace: { id: string } }
  rapport('workspace', 'set-quota', workspace.id, `contacts=${contacts}`)
  return workspace.id
}

function createKey(client: Client, workspaceId: string): void {
  const created = rapport('key', 'create', '--workspace', workspaceId, '--role', 'ADMIN', '--name', 'Agency')
  saveKey(client, (created as { key: string }).key)
}

async function ensureDomain(api: Rapport, { domain: name, host }: Client): Promise<Domain> {
  for await (const known of api.domains.list())
    if (known.name === name) return known.host === host ? known : await api.domains.update(known.id, { host })
  return await api.domains.create({ name, host })
}

await forEachClient(async (client) => {
  const workspaceId = createWorkspace(client)
  if (!connect(client)) createKey(client, workspaceId)
  const api = connect(client)
  if (!api) throw new Error('There is no key')
  console.log(`${client.id}: ${workspaceId}`)
  const { records } = await ensureDomain(api, client)
  for (const { type, name, value } of records) console.log(`  ${name}  ${type}  ${value}`)
})
