/**
 * Creates what each client of the list lacks: the workspace, its limit, its API key and its domain. It can be stopped and run
 * again at any moment, also with more clients. Prints the DNS records to publish.
 */
import { ConflictError, type Rapport } from '@rapport/sdk'
import { type Client, clients, connect, saveKey } from './clients.ts'
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

async function addDomain(api: Rapport, { domain: name, host }: Client) {
  const domain = await api.domains.create({ name, host }).catch(async (error: unknown) => {
    if (!(error instanceof ConflictError)) throw error
    for await (const known of api.domains.list()) if (known.name === name) return known
    throw error
  })
  return domain.records
}

for (const client of clients) {
  const workspaceId = createWorkspace(client)
  if (!connect(client)) createKey(client, workspaceId)
  const api = connect(client)
  if (!api) throw new Error(`${client.id}: has no key`)
  console.log(`${client.id}: ${workspaceId}`)
  for (const { type, name, value } of await addDomain(api, client)) console.log(`  ${name}  ${type}  ${value}`)
}
