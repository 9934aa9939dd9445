/** Checks the DNS records of each client. A client whose domain is verified sends from it. */
import type { Rapport } from '@rapport/sdk'
import { type Client, clients, connect } from './clients.ts'

async function check(api: Rapport, { id: client, name: fromName }: Client): Promise<void> {
  for await (const { id, name } of api.domains.list()) {
    const { status, records } = await api.domains.verify(id)
    console.log(`${client}: ${name} is ${status}`)
    for (const { problem } of records.filter(({ problem }) => problem)) console.log(`  ${problem}`)
    if (status === 'VERIFIED') await api.workspace.update({ fromName, fromEmail: `news@${name}` })
  }
}

for (const client of clients) {
  const api = connect(client)
  if (!api) throw new Error(`${client.id}: run set-up first`)
  await check(api, client)
}
