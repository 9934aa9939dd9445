import { importContacts } from '../import-file.ts'
import { withInstallation } from '../installation.ts'
import { type Bench, measureRounds, timed } from '../measurements.ts'
import { stopProcess } from '../processes.ts'

export const importingCompanies: Bench = {
  about: 'An import of 100,000 people that creates their 5,000 companies; baseline: the same people without companies',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const api = await installation.startApi()
      const [count, companies] = options.quick ? [2_000, 100] : [100_000, 5_000]

      async function importAll(file: { count: number; companies: number }): Promise<number> {
        await installation.client.query('truncate contacts, companies, events cascade')
        await installation.client.query('checkpoint')
        const { key } = await installation.createWorkspace()
        const worker = await installation.startWorker()
        const ms = await timed(() => importContacts(api, key, file))
        await stopProcess(worker)
        return ms / 1000
      }
      const times = await measureRounds(options, {
        linked: () => importAll({ count, companies }),
        plain: () => importAll({ count, companies: 0 }),
      })
      return [
        {
          name: `import of ${count.toLocaleString('en')} people in ${companies.toLocaleString('en')} new companies`,
          unit: 's',
          values: times.linked,
          baseline: { name: 'without companies', values: times.plain },
          target: { atMost: 1.15 },
        },
      ]
    }),
}
