import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, createList, send } from '../campaigns.ts'
import { type Bench, takeTurns, timed } from '../figures.ts'
import { call, onInstallation } from '../installation.ts'

/** No worker runs meanwhile. */
export const sending: Bench = {
  about: '`send` to a million subscribers beside a bare INSERT … SELECT, and how other requests fare meanwhile',
  measure: (options) =>
    onInstallation(async (installation) => {
      const { client } = installation
      await installation.startRedis()
      const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
      const { key } = sender.workspace
      const people = options.quick ? 10_000 : 1_000_000
      const listId = await createList(installation, sender, { name: 'million', count: people })
      const [first] = (await call<{ data: { id: string }[] }>(sender.api, key, ['GET /contacts?limit=1'])).data
      const generator = installation.startLoadGenerator()
      const path = `/contacts/${first?.id}`
      const others = {
        urls: [sender.api.url],
        key,
        perSecond: 100,
        asks: [
          { method: 'GET' as const, path },
          { method: 'PATCH' as const, path, body: { company: 'Company {n}' } },
        ],
      }
      const busy: number[] = []

      async function sendAll(): Promise<number> {
        const id = await createCampaign(sender, listId)
        await client.query('checkpoint')
        const running = generator.start(others)
        const ms = await timed(() => send(sender, id))
        // Long enough for a p99, should it be quick.
        await sleep(Math.max(0, 2_000 - ms))
        busy.push((await running.stop()).p99)
        await call(sender.api, key, [`POST /campaigns/${id}/cancel`])
        await client.query('delete from campaign_batches')
        await client.query('delete from outbox')
        return ms
      }

      async function insertBare(): Promise<number> {
        await client.query(
          'create table bare (campaign_id uuid not null, contact_id uuid not null, status text not null)',
        )
        await client.query('checkpoint')
        const insert = `insert into bare select uuidv7(), id, 'PENDING' from contacts limit $1`
        const ms = await timed(() => client.query(insert, [people]))
        await client.query('drop table bare')
        return ms
      }

      const times = await takeTurns(options, {
        send: sendAll,
        insert: insertBare,
        quiet: async () => (await generator.run(others, options.quick ? 1_000 : 5_000)).p99,
      })
      return [
        {
          name: `send to ${people.toLocaleString('en')} subscribers`,
          unit: 'ms',
          values: times.send,
          beside: { name: 'bare INSERT … SELECT of as many narrow rows', values: times.insert },
          target: { atMost: 1 },
        },
        {
          name: 'other requests during that send, p99',
          unit: 'ms',
          values: busy.slice(1),
          beside: { name: 'quiet', values: times.quiet },
          target: { atMost: 3 },
        },
      ]
    }),
}
