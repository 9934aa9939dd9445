import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, createList, send } from '../campaigns.ts'
import { type Bench, measureRounds, timed } from '../measurements.ts'
import { call, withInstallation } from '../installation.ts'

/** Runs without a worker. */
export const sending: Bench = {
  about: '`send` to a million subscribers, and p99 of other requests meanwhile; baseline: a bare INSERT … SELECT',
  measure: (options) =>
    withInstallation(async (installation) => {
      const { client } = installation
      await installation.startRedis()
      const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
      const { key } = sender.workspace
      const people = options.quick ? 10_000 : 1_000_000
      const listId = await createList(installation, sender, { name: 'million', count: people })
      const [first] = (await call<{ data: { id: string }[] }>(sender.api, key, ['GET /contacts?limit=1'])).data
      const generator = installation.startLoadGenerator()
      const path = `/contacts/${first?.id}`
      const load = {
        urls: [sender.api.url],
        key,
        perSecond: 100,
        requests: [
          { method: 'GET' as const, path },
          { method: 'PATCH' as const, path, body: { company: 'Company {n}' } },
        ],
      }
      const busy: number[] = []

      async function sendAll(): Promise<number> {
        const id = await createCampaign(sender, listId)
        await client.query('checkpoint')
        const running = generator.start(load)
        const ms = await timed(() => send(sender, id))
        // If `send` is quick, continue until there are enough samples for a p99.
        await sleep(Math.max(0, 2_000 - ms))
        busy.push((await running.stop()).p99)
        await call(sender.api, key, [`POST /campaigns/${id}/cancel`])
        await client.query('delete from campaign_batches')
        await client.query('delete from work')
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

      const times = await measureRounds(options, {
        send: sendAll,
        insert: insertBare,
        quiet: async () => (await generator.run(load, options.quick ? 1_000 : 5_000)).p99,
      })
      return [
        {
          name: `send to ${people.toLocaleString('en')} subscribers`,
          unit: 'ms',
          values: times.send,
          baseline: { name: 'bare INSERT … SELECT of as many narrow rows', values: times.insert },
          target: { atMost: 1 },
        },
        {
          name: 'other requests during that send, p99',
          unit: 'ms',
          values: busy.slice(1),
          baseline: { name: 'without a send', values: times.quiet },
          target: { atMost: 3 },
        },
      ]
    }),
}
