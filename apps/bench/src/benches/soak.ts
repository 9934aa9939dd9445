import { setTimeout as sleep } from 'node:timers/promises'
import { createWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { type Bench, median } from '../figures.ts'
import { onInstallation } from '../installation.ts'
import { memoryOf } from '../processes.ts'

const sampleEveryMs = 1_000

export const soak: Bench = {
  about: 'Memory of API and worker after --minutes of steady work beside that after five, or after half of them',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const receiver = await installation.startReceiver()
      const { ctx, key } = await installation.createWorkspace()
      await createWebhook(ctx, { url: receiver.url, eventTypes: ['*'] })
      const [api, worker] = [await installation.startApi(), await installation.startWorker()]
      const running = installation.startLoadGenerator().start({
        urls: [api.url],
        key,
        perSecond: 50,
        // Where something else makes the machine too busy for a moment, the hour goes on, and says so.
        may503: true,
        asks: [
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
        const [ofApi, ofWorker] = [await memoryOf(api.child, 'VmRSS'), await memoryOf(worker, 'VmRSS')]
        samples.push({ minute: minute(), api: ofApi, worker: ofWorker })
        if (samples.length % 60 === 0)
          options.say(
            `after ${Math.round(minute())} minutes: API ${ofApi.toFixed(0)} MB, worker ${ofWorker.toFixed(0)} MB`,
          )
      }
      const { refused } = await running.stop()
      await receiver.takeReceipts()

      /** The median of what came before, as collections of garbage make it go up and down. */
      const at = (minute: number, who: 'api' | 'worker') =>
        median(samples.filter((one) => one.minute <= minute && one.minute > minute * 0.8).map((one) => one[who]))
      const memory = (['api', 'worker'] as const).map((who) => ({
        name: `memory of the ${who === 'api' ? 'API' : who} after ${late} minutes of work`,
        unit: 'MB',
        values: [at(late, who)],
        beside: { name: `after ${early}`, values: [at(early, who)] },
        target: { atMost: 1.2 },
      }))
      return [...memory, { name: 'answered 503 meanwhile', unit: '%', values: [refused * 100], target: { atMost: 0 } }]
    }),
}
