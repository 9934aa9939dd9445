import { once } from 'node:events'
import { type Bench, takeTurns } from '../figures.ts'
import { onInstallation } from '../installation.ts'
import { end } from '../processes.ts'

export const coldStart: Bench = {
  about: 'From the start of each process until it can work, beside a bare Fastify with pg',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const until = async (start: () => Promise<{ child: Parameters<typeof end>[0] }>) => {
        const startedAt = performance.now()
        const { child } = await start()
        const ms = performance.now() - startedAt
        await end(child)
        return ms
      }
      const times = await takeTurns(options, {
        api: () => until(installation.startApi),
        worker: () => until(async () => ({ child: await installation.startWorker() })),
        migrate: () =>
          until(async () => {
            const { environment: env, processes } = installation
            const child = processes.fork('../../../packages/core/src/db/migrate.ts', { env, stdio: 'ignore' })
            await once(child, 'exit')
            return { child }
          }),
        bare: () => until(installation.startBare),
      })
      const beside = { name: 'bare Fastify with pg', values: times.bare }
      return [
        { name: 'start of the API until it is ready', unit: 'ms', values: times.api, beside },
        { name: 'start of a worker until it takes work', unit: 'ms', values: times.worker, beside },
        { name: 'migration of a database that is up to date', unit: 'ms', values: times.migrate, beside },
      ]
    }),
}
