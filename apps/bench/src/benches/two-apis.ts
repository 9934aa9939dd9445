import { idOf } from '@rapport/core/kernel/ids.ts'
import { type Bench, type Figure, median, formatNumber, measureRounds } from '../measurements.ts'
import { withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { insertContacts, pickContactIds } from '../contacts.ts'

export const twoApis: Bench = {
  about: 'Two API processes, and the processor utilization; baseline: one API process',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      await insertContacts(installation, workspace, options.quick ? 1_000 : 100_000)
      await installation.client.query('vacuum analyze')
      const ids = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const apis = [await installation.startApi(), await installation.startApi()]
      const generator = installation.startLoadGenerator()

      async function compare(name: string, requests: LoadRequest[]): Promise<Figure> {
        const busy: Record<number, number[]> = { 1: [], 2: [] }
        const rate = (count: number) => async () => {
          const urls = apis.slice(0, count).map(({ url }) => url)
          // The same number of connections per process.
          const load = { urls, requests, key: workspace.key, connections: 20 * count }
          const { perSecond, cpuUtilization } = await generator.run(load, options.quick ? 700 : 5_000)
          busy[count]?.push(cpuUtilization * 100)
          return perSecond
        }
        const rates = await measureRounds(options, { two: rate(2), one: rate(1) })
        const [one, two] = [formatNumber(median(busy[1] ?? [])), formatNumber(median(busy[2] ?? []))]
        return {
          name: `${name}, two API processes`,
          unit: 'requests/s',
          values: rates.two,
          baseline: { name: 'one', values: rates.one },
          target: { atLeast: 1.3 },
          note: `processors in use: ${one} % with one, ${two} % with two`,
        }
      }

      return [
        await compare(
          'GET /contacts/{id}',
          ids.map((id) => ({ method: 'GET', path: `/contacts/${id}` })),
        ),
        await compare('POST /contacts', [
          { method: 'POST', path: '/contacts', body: { email: 'reader{n}@example.com', firstName: 'Ada' } },
        ]),
      ]
    }),
}
