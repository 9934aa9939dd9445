import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import pg from 'pg'
import { type Bench, median, formatNumber, measureRounds } from '../measurements.ts'
import { type Installation, withInstallation } from '../installation.ts'
import type { Load } from '../load.ts'
import { withParseServer, parseDatabase, type ParseServer } from '../parse-server.ts'
import { insertContacts } from '../contacts.ts'
import type { Receipt } from '../receiver.ts'

const person = { email: 'peer{n}@example.com', firstName: 'Ada', lastName: 'Lovelace' }

export const peers: Bench = {
  about: 'Creating contacts, listing contacts and webhooks; baseline: Parse Server, installed from npm',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      options.log('installing Parse Server')
      return withParseServer(installation, async (parse) => {
        const receiver = await installation.startReceiver()
        const [workspace, subscribed] = [await installation.createWorkspace(), await installation.createWorkspace()]
        await createWebhook(subscribed.ctx, { url: receiver.url, eventTypes: ['contact.created'] })
        const api = await installation.startApi()
        const people = options.quick ? 1_000 : 100_000
        await insertContacts(installation, workspace, people)
        await fillParse(installation, parse, people)
        await installation.client.query('vacuum analyze')

        const generator = installation.startLoadGenerator()
        const forMs = options.quick ? 700 : 5_000
        const create = { method: 'POST' as const, path: '/contacts', body: person }
        const list = { method: 'GET' as const, path: '/contacts?limit=50' }
        const ours: Load = { urls: [api.url], key: workspace.key, requests: [create] }
        const theirs: Load = { urls: [parse.url], headers: parse.headers, requests: [] }
        const listTheirs = { method: 'GET' as const, path: '/parse/classes/Contact?limit=50&order=-createdAt' }
        const createTheirs = { ...create, path: '/parse/classes/Contact' }
        const rate = (load: Load) => async () => (await generator.run(load, forMs)).perSecond

        const busy = { ours: [] as number[], theirs: [] as number[] }
        /** Deliveries per second while contacts are created, from the first request to the last receipt. */
        const deliver = (side: keyof typeof busy, load: Load) => async () => {
          await receiver.takeReceipts()
          const startedAt = process.hrtime.bigint()
          busy[side].push((await generator.run(load, forMs)).cpuUtilization * 100)
          await installation.waitUntilDone()
          const receipts = await receiver.takeReceipts()
          return (receipts.length / Number(getLastReceivedAt(receipts) - startedAt)) * 1e9
        }

        const lists = await measureRounds(options, {
          ours: rate({ ...ours, requests: [list] }),
          theirs: rate({ ...theirs, requests: [listTheirs] }),
        })
        const writes = await measureRounds(options, {
          ours: rate(ours),
          theirs: rate({ ...theirs, requests: [createTheirs] }),
        })
        await parse.createWebhook(receiver.url)
        await installation.startWorker()
        const deliveries = await measureRounds(options, {
          ours: deliver('ours', { ...ours, key: subscribed.key }),
          theirs: deliver('theirs', { ...theirs, requests: [createTheirs] }),
        })
        const name = 'Parse Server'
        const inUse = (side: keyof typeof busy) => `${formatNumber(median(busy[side].slice(1)))} %`
        return [
          {
            name: 'POST /contacts',
            unit: 'requests/s',
            values: writes.ours,
            baseline: { name, values: writes.theirs },
            target: { atLeast: 1.5 },
          },
          {
            name: `GET /contacts?limit=50 of ${people.toLocaleString('en')}`,
            unit: 'requests/s',
            values: lists.ours,
            baseline: { name, values: lists.theirs },
            target: { atLeast: 1.3 },
          },
          {
            name: 'webhooks while contacts are created',
            unit: 'deliveries/s',
            values: deliveries.ours,
            baseline: { name, values: deliveries.theirs },
            target: { atLeast: 1.2 },
            note: `processors in use: ${inUse('ours')} with Rapport, ${inUse('theirs')} with ${name}`,
          },
        ]
      })
    }),
}

const getLastReceivedAt = (receipts: Receipt[]) => receipts.map(([, , at]) => at).reduce((a, b) => (a > b ? a : b), 0n)

/** Inserts the same number of similar contacts, and creates an index for the order of the listing. */
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
