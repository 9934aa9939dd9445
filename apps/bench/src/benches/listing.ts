import { type Bench, measureRounds, timed } from '../measurements.ts'
import { call, type Installation, withInstallation, type Server, type Workspace } from '../installation.ts'
import { insertContacts } from '../contacts.ts'

/** `atMost`: the maximum ratio of the time with a million contacts to the time with a thousand. */
const listings: [name: string, query: string, atMost: number][] = [
  ['filter by tag (1 %)', 'tag=vip', 3],
  ['filter by tag (all)', 'tag=all', 3],
  ['filter by custom field (1 %)', 'customField.city=City%207', 3],
  ['search, one match', 'search=person77%40', 10],
  ['search, a typo', 'search=compny%20777', 10],
  ['search, an address with a typo', 'search=persno777%40example.com', 10],
  ['search, a typo in each word', 'search=margraet%20compny777', 10],
  ['search, a first name (10 %)', 'search=grace', 10],
  ['search, all contacts', 'search=person', 10],
]

export const listing: Bench = {
  about: 'Listings, filters and searches with a million contacts; baseline: with a thousand',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const people = options.quick ? 20_000 : 1_000_000
      options.log(`inserting ${people.toLocaleString('en')} contacts`)
      const [few, many] = [await fill(installation, 1_000), await fill(installation, people)]
      await installation.client.query('vacuum analyze')
      const api = await installation.startApi()

      /** Returns the average time of several sequential requests. */
      const timeRequests =
        ({ key }: Workspace, query: string) =>
        async () => {
          const count = options.quick ? 3 : 9
          const ms = await timed(async () => {
            for (let n = 0; n < count; n += 1) await call(api, key, [`GET /contacts?${query}`])
          })
          return ms / count
        }
      const deepFew = await readDeepPage(api, few.key, 5)
      const deepMany = await readDeepPage(api, many.key, Math.min(2_000, people / 200))
      const cases = [
        { name: 'a page deep in the listing', ofFew: deepFew, ofMany: deepMany, atMost: 3 },
        ...listings.map(([name, query, atMost]) => ({ name, ofFew: query, ofMany: query, atMost })),
      ]
      const figures = []
      for (const { name, ofFew, ofMany, atMost } of cases) {
        const times = await measureRounds(options, { many: timeRequests(many, ofMany), few: timeRequests(few, ofFew) })
        figures.push({
          name: `${name}, of ${people.toLocaleString('en')}`,
          unit: 'ms',
          values: times.many,
          baseline: { name: 'of 1,000', values: times.few },
          target: { atMost },
        })
      }
      return figures
    }),
}

async function fill(installation: Installation, count: number): Promise<Workspace> {
  const workspace = await installation.createWorkspace()
  await insertContacts(installation, workspace, count)
  return workspace
}

async function readDeepPage(api: Server, key: string, pages: number): Promise<string> {
  let query = 'limit=100'
  for (let page = 0; page < pages; page += 1) {
    const { nextCursor } = await call<{ nextCursor: string }>(api, key, [`GET /contacts?${query}`])
    query = `limit=100&cursor=${nextCursor}`
  }
  return query
}
