/** Checks the DNS records of each client. A client whose domain is verified sends from it. */
import { connect, forEachClient } from './clients.ts'

await forEachClient(async (client) => {
  const api = connect(client)
  if (!api) throw new Error('Run set-up first')
  for await (const { id, name } of api.domains.list()) {
    const { status, records } = await api.domains.verify(id)
    console.log(`${client.id}: ${name} is ${status}`)
    for (const { problem } of records.filter(({ problem }) => problem)) console.log(`  ${problem}`)
    if (status === 'VERIFIED') await api.workspace.update({ fromName: client.name, fromEmail: `news@${name}` })
  }
})
