import { setTimeout as sleep } from 'node:timers/promises'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { startMailSink } from '../campaigns.ts'
import { insertContacts, pickContactIds } from '../contacts.ts'
import { withInstallation } from '../installation.ts'
import type { Load } from '../load.ts'
import { type Bench, formatNumber, measureRounds } from '../measurements.ts'
import { startNoise } from '../noise.ts'
import { createNoisyTenant } from '../noisy-tenant.ts'
import { readMemoryMb, waitUntil } from '../processes.ts'

export const busyTenants: Bench = {
  about: 'p99 of one workspace while another uses everything at once; baseline: without the other',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      await startMailSink(installation)
      const receiver = await installation.startReceiver()
      const api = await installation.startApi()
      const quiet = await installation.createWorkspace()
      await insertContacts(installation, quiet, 1_000)
      const ids = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const noisy = await createNoisyTenant(installation, api, { receiverUrl: receiver.url, isQuick: options.quick })
      await installation.startWorker()
      const generator = installation.startLoadGenerator()
      const load: Load = {
        urls: [api.url],
        key: quiet.key,
        requests: ids.flatMap((id) => [
          { method: 'GET', path: `/contacts/${id}` },
          { method: 'POST', path: '/contacts', body: { email: 'meanwhile{n}@example.com' } },
          { method: 'GET', path: '/contacts?limit=50' },
        ]),
        perSecond: 50,
        allows503: true,
      }
      const forMs = options.quick ? 1_000 : 30_000
      let maxRejected = 0
      const times = await measureRounds(
        { ...options, rounds: Math.min(options.rounds, 3) },
        {
          async noisy() {
            const noise = startNoise(installation, 'noise-generator.ts', noisy)
            await sleep(options.quick ? 200 : 5_000)
            const { p99, rejected } = await generator.run(load, forMs)
            maxRejected = Math.max(maxRejected, rejected)
            await noise.stop()
            // The imports and campaigns that are still queued must not disturb the quiet side of the next round. The
            // deliveries to receivers that hang remain.
            await waitUntil(async () => (await installation.client.query('select from work limit 1')).rowCount === 0)
            return p99
          },
          quiet: async () => (await generator.run(load, forMs)).p99,
        },
        { warmUp: false },
      )
      return [
        {
          name: 'GET and POST of contacts while another workspace uses everything at once, p99',
          unit: 'ms',
          values: times.noisy,
          baseline: { name: 'without the other workspace', values: times.quiet },
          target: { atMost: 20 },
          note: `at most ${formatNumber(maxRejected * 100)} % of the responses were 503`,
        },
        {
          name: 'peak memory of the API',
          unit: 'MB',
          values: [await readMemoryMb(api.child)],
          target: { atMost: 400 },
        },
      ]
    }),
}
