import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Bench, measureRounds } from '../measurements.ts'
import { withInstallation } from '../installation.ts'
import { stopProcess } from '../processes.ts'

export const coldStart: Bench = {
  about: 'Time from the start of each process until it is ready, and of the CLI; baseline: a bare Fastify with pg',
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
        version: readVersionCpuSeconds,
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
        {
          name: '`rapport --version`, processor time',
          unit: 's',
          values: times.version,
          target: { atMost: 0.5 },
        },
      ]
    }),
}

/** The shell knows the processor time of its children: `0m0.30s 0m0.05s`, user and system, in the second line of `times`. */
async function readVersionCpuSeconds(): Promise<number> {
  const program = resolve(import.meta.dirname, '../../../../bin/rapport')
  const { stdout } = await promisify(execFile)('sh', ['-c', '"$0" --version > /dev/null && times', program])
  const [, ofChildren = ''] = stdout.split('\n')
  return [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, min, s]) => sum + Number(min) * 60 + Number(s), 0)
}
