import { createWebhook } from '@rapport/core/webhooks/webhooks.ts'
import pg from 'pg'
import { type Bench, median, show, takeTurns } from '../figures.ts'
import { type Installation, onInstallation } from '../installation.ts'
import type { Load } from '../load.ts'
import { onParseServer, parseDatabase, type ParseServer } from '../parse-server.ts'
import { fillContacts } from '../people.ts'
import type { Receipt } from '../receiver.ts'

const person = { email: 'peer{n}@example.com', firstName: 'Ada', lastName: 'Lovelace' }

export const peers: Bench = {
  about: 'The same work by Parse Server, which npm installs for it: contacts made, listed, and told of by webhook',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      options.say('installing Parse Server')
      return onParseServer(installation, async (parse) => {
        const receiver = await installation.startReceiver()
        const [workspace, heard] = [await installation.createWorkspace(), await installation.createWorkspace()]
        await createWebhook(heard.ctx, { url: receiver.url, eventTypes: ['contact.created'] })
        const api = await installation.startApi()
        const people = options.quick ? 1_000 : 100_000
        await fillContacts(installation, workspace, people)
        await fillParse(installation, parse, people)
        await installation.client.query('vacuum analyze')

        const generator = installation.startLoadGenerator()
        const forMs = options.quick ? 700 : 5_000
        const create = { method: 'POST' as const, path: '/contacts', body: person }
        const list = { method: 'GET' as const, path: '/contacts?limit=50' }
        const ours: Load = { urls: [api.url], key: workspace.key, asks: [create] }
        const theirs: Load = { urls: [parse.url], headers: parse.headers, asks: [] }
        const listTheirs = { method: 'GET' as const, path: '/parse/classes/Contact?limit=50&order=-createdAt' }
        const createTheirs = { ...create, path: '/parse/classes/Contact' }
        const rate = (load: Load) => async () => (await generator.run(load, forMs)).perSecond

        const busy = { ours: [] as number[], theirs: [] as number[] }
        /** Deliveries a second while contacts are written, from the first of them to the last receipt. */
        const deliver = (side: keyof typeof busy, load: Load) => async () => {
          await receiver.takeReceipts()
          const startedAt = process.hrtime.bigint()
          busy[side].push((await generator.run(load, forMs)).machineBusy * 100)
          await installation.untilDone()
          const receipts = await receiver.takeReceipts()
          return (receipts.length / Number(lastOf(receipts) - startedAt)) * 1e9
        }

        const lists = await takeTurns(options, {
          ours: rate({ ...ours, asks: [list] }),
          theirs: rate({ ...theirs, asks: [listTheirs] }),
        })
        const writes = await takeTurns(options, { ours: rate(ours), theirs: rate({ ...theirs, asks: [createTheirs] }) })
        await parse.listenTo(receiver.url)
        await installation.startWorker()
        const deliveries = await takeTurns(options, {
          ours: deliver('ours', { ...ours, key: heard.key }),
          theirs: deliver('theirs', { ...theirs, asks: [createTheirs] }),
        })
        const name = 'Parse Server'
        const inUse = (side: keyof typeof busy) => `${show(median(busy[side].slice(1)))} %`
        return [
          {
            name: 'POST /contacts',
            unit: 'requests/s',
            values: writes.ours,
            beside: { name, values: writes.theirs },
            target: { atLeast: 1.7 },
          },
          {
            name: `GET /contacts?limit=50 of ${people.toLocaleString('en')}`,
            unit: 'requests/s',
            values: lists.ours,
            beside: { name, values: lists.theirs },
            target: { atLeast: 1.3 },
          },
          {
            name: 'webhooks while contacts are created',
            unit: 'deliveries/s',
            values: deliveries.ours,
            beside: { name, values: deliveries.theirs },
            target: { atLeast: 1.3 },
            note: `processors in use: ${inUse('ours')} with us, ${inUse('theirs')} with ${name}`,
          },
        ]
      })
    }),
}

const lastOf = (receipts: Receipt[]) => receipts.map(([, , at]) => at).reduce((a, b) => (a > b ? a : b), 0n)

/** As many contacts with as much in them, and an index for the order of the listing, which it would not make by itself. */
async function fillParse(installation: Installation, parse: ParseServer, count: number): Promise<void> {
  const first = {
    ...person,
    company: 'Company',
    tags: ['all'],
    customFieldValues: { city: 'City' },
    phone: '',
    source: '',
  }
  const response = await fetch(`${parse.url}/parse/classes/Contact`, {
    method: 'POST',
    headers: { ...parse.headers, 'content-type': 'application/json' },
    body: JSON.stringify(first),
  })
  if (!response.ok) throw new Error(await response.text())
  const client = new pg.Client({ connectionString: parseDatabase(installation) })
  await client.connect()
  await client.query(
    `insert into "Contact" ("objectId", "createdAt", "updatedAt", email, "firstName", "lastName", company, tags, "customFieldValues")
     select 'filled' || n, now() - n * interval '1 second', now(), 'person' || n || '@example.com', 'Ada',
       initcap(substr(md5(n::text), 1, 7)), 'Company ' || n % 5000, '["all"]', jsonb_build_object('city', 'City ' || n % 100)
     from generate_series(1, $1::int) n`,
    [count],
  )
  await client.query('create index on "Contact" ("createdAt")')
  await client.query('vacuum analyze')
  await client.end()
}
