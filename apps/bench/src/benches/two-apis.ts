import { idOf } from '@rapport/core/kernel/ids.ts'
import { type Bench, type Figure, median, show, takeTurns } from '../figures.ts'
import { onInstallation } from '../installation.ts'
import type { Ask } from '../load.ts'
import { fillContacts, someContacts } from '../people.ts'

export const twoApis: Bench = {
  about: 'Two API processes beside one, and how much of the machine is in use meanwhile',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      await fillContacts(installation, workspace, options.quick ? 1_000 : 100_000)
      await installation.client.query('vacuum analyze')
      const ids = (await someContacts(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const apis = [await installation.startApi(), await installation.startApi()]
      const generator = installation.startLoadGenerator()

      async function compare(name: string, asks: Ask[]): Promise<Figure> {
        const busy: Record<number, number[]> = { 1: [], 2: [] }
        const rate = (count: number) => async () => {
          const urls = apis.slice(0, count).map(({ url }) => url)
          // As many for each process as for one alone.
          const load = { urls, asks, key: workspace.key, connections: 20 * count }
          const { perSecond, machineBusy } = await generator.run(load, options.quick ? 700 : 5_000)
          busy[count]?.push(machineBusy * 100)
          return perSecond
        }
        const rates = await takeTurns(options, { two: rate(2), one: rate(1) })
        const [one, two] = [show(median(busy[1] ?? [])), show(median(busy[2] ?? []))]
        return {
          name: `${name}, two API processes`,
          unit: 'requests/s',
          values: rates.two,
          beside: { name: 'one', values: rates.one },
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
