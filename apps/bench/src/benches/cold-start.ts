import { once } from 'node:events'
import { type Bench, measureRounds } from '../measurements.ts'
import { withInstallation } from '../installation.ts'
import { stopProcess } from '../processes.ts'

export const coldStart: Bench = {
  about: 'Time from the start of each process until it is ready; baseline: a bare Fastify with pg',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const measureStart = async (start: () => Promise<{ child: Parameters<typeof stopProcess>[0] }>) => {
        const startedAt = performance.now()
        const { child } = await start()
        const ms = performance.now() - startedAt
        await stopProcess(child)
        return ms
      }
      const times = await measureRounds(options, {
        api: () => measureStart(installation.startApi),
        worker: () => measureStart(async () => ({ child: await installation.startWorker() })),
        migrate: () =>
          measureStart(async () => {
            const { environment: env, processes } = installation
            const child = processes.fork('../../../packages/core/src/db/migrate.ts', { env, stdio: 'ignore' })
            await once(child, 'exit')
            return { child }
          }),
        bare: () => measureStart(installation.startBare),
      })
      const baseline = { name: 'bare Fastify with pg', values: times.bare }
      return [
        { name: 'start of the API until it is ready', unit: 'ms', values: times.api, baseline, target: { atMost: 4 } },
        {
          name: 'start of a worker until it takes work',
          unit: 'ms',
          values: times.worker,
          baseline,
          target: { atMost: 4 },
        },
        {
          name: 'migration of a database that is up to date',
          unit: 'ms',
          values: times.migrate,
          baseline,
          target: { atMost: 2 },
        },
      ]
    }),
}
