import { idOf } from '@rapport/core/kernel/ids.ts'
import { importContacts } from '../import-file.ts'
import { createCampaign, createList, send, startMailSink, waitForEnd } from '../campaigns.ts'
import { type Bench, formatNumber, measureRounds } from '../measurements.ts'
import { withInstallation } from '../installation.ts'
import type { Load } from '../load.ts'
import { pickContactIds } from '../contacts.ts'

export const busy: Bench = {
  about: 'p99 of requests during an import of a million rows and a campaign to 100,000; baseline: without that load',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      await startMailSink(installation)
      const api = await installation.startApi()
      const workspace = await installation.createWorkspace()
      const sender = { api, workspace }
      const [rows, count] = options.quick ? [5_000, 1_000] : [1_000_000, 100_000]
      const listId = await createList(installation, sender, { name: 'reader', count })
      const ids = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
      await installation.startWorker()
      const generator = installation.startLoadGenerator()
      const load: Load = {
        urls: [api.url],
        key: workspace.key,
        requests: ids.flatMap((id) => [
          { method: 'GET', path: `/contacts/${id}` },
          { method: 'POST', path: '/contacts', body: { email: 'meanwhile{n}@example.com' } },
        ]),
        perSecond: 50,
        allows503: true,
      }

      let maxRejected = 0
      async function whileBusy(): Promise<number> {
        const { key } = await installation.createWorkspace()
        const id = await createCampaign(sender, listId)
        const running = generator.start(load)
        await Promise.all([
          importContacts(api, key, { count: rows }),
          send(sender, id).then(() => waitForEnd(sender, id)),
        ])
        const { p99, rejected } = await running.stop()
        maxRejected = Math.max(maxRejected, rejected)
        return p99
      }
      // At most three rounds, as each one adds a million rows.
      const rounds = Math.min(options.rounds, 3)
      const times = await measureRounds(
        { ...options, rounds },
        {
          busy: whileBusy,
          quiet: async () => (await generator.run(load, options.quick ? 1_000 : 20_000)).p99,
        },
        { warmUp: false },
      )
      const work = `while ${rows.toLocaleString('en')} rows are imported and a campaign goes to ${count.toLocaleString('en')}`
      return [
        {
          name: `GET /contacts/{id} and POST /contacts ${work}, p99`,
          unit: 'ms',
          values: times.busy,
          baseline: { name: 'without that load', values: times.quiet },
          note: `at most ${formatNumber(maxRejected * 100)} % of the responses were 503`,
        },
      ]
    }),
}
