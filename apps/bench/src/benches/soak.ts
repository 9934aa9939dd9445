import { setTimeout as sleep } from 'node:timers/promises'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { type Bench, median } from '../measurements.ts'
import { withInstallation } from '../installation.ts'
import { readMemoryMb } from '../processes.ts'

const sampleEveryMs = 1_000

export const soak: Bench = {
  about:
    'Memory of API and worker after --minutes of constant load; baseline: after five minutes, or half of --minutes',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const receiver = await installation.startReceiver()
      const { ctx, key } = await installation.createWorkspace()
      await createWebhook(ctx, { url: receiver.url, eventTypes: ['*'] })
      const [api, worker] = [await installation.startApi(), await installation.startWorker()]
      const running = installation.startLoadGenerator().start({
        urls: [api.url],
        key,
        perSecond: 50,
        // A short overload of the machine must not end a run of an hour; the share of 503 responses is reported.
        allows503: true,
        requests: [
          {
            method: 'POST',
            path: '/contacts',
            body: { email: 'soak{n}@example.com', firstName: 'Ada', tags: ['all'] },
          },
          { method: 'GET', path: '/contacts?limit=50' },
          { method: 'GET', path: '/contacts?tag=all&limit=10' },
          { method: 'GET', path: '/contacts?search=soak{n}' },
          { method: 'GET', path: '/events?limit=20' },
        ],
      })

      const [early, late] = [Math.min(5, options.minutes / 2), options.minutes]
      const samples: { minute: number; api: number; worker: number }[] = []
      const startedAt = performance.now()
      const minute = () => (performance.now() - startedAt) / 60_000
      while (minute() < late) {
        await sleep(sampleEveryMs)
        const [ofApi, ofWorker] = [await readMemoryMb(api.child, 'VmRSS'), await readMemoryMb(worker, 'VmRSS')]
        samples.push({ minute: minute(), api: ofApi, worker: ofWorker })
        if (samples.length % 60 === 0)
          options.log(
            `after ${Math.round(minute())} minutes: API ${ofApi.toFixed(0)} MB, worker ${ofWorker.toFixed(0)} MB`,
          )
      }
      const { rejected } = await running.stop()
      await receiver.takeReceipts()

      /** The median of the preceding samples, as garbage collection makes the memory fluctuate. */
      const memoryAt = (minute: number, program: 'api' | 'worker') =>
        median(samples.filter((one) => one.minute <= minute && one.minute > minute * 0.8).map((one) => one[program]))
      const memory = (['api', 'worker'] as const).map((program) => ({
        name: `memory of the ${program === 'api' ? 'API' : program} after ${late} minutes of work`,
        unit: 'MB',
        values: [memoryAt(late, program)],
        baseline: { name: `after ${early}`, values: [memoryAt(early, program)] },
        target: { atMost: 1.2 },
      }))
      return [...memory, { name: 'responses with 503', unit: '%', values: [rejected * 100], target: { atMost: 0 } }]
    }),
}
