import { idOf } from '@rapport/core/kernel/ids.ts'
import { importPeople } from '../address-book.ts'
import { createCampaign, createList, send, startNullSink, waitForEnd } from '../campaigns.ts'
import { type Bench, show, takeTurns } from '../figures.ts'
import { onInstallation } from '../installation.ts'
import type { Load } from '../load.ts'
import { someContacts } from '../people.ts'

export const busy: Bench = {
  about:
    'The p99 of other requests while a million rows are imported and a campaign goes to 100,000, beside the quiet one',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      await startNullSink(installation)
      const api = await installation.startApi()
      const workspace = await installation.createWorkspace()
      const sender = { api, workspace }
      const [rows, count] = options.quick ? [5_000, 1_000] : [1_000_000, 100_000]
      const listId = await createList(installation, sender, { name: 'reader', count })
      const ids = (await someContacts(installation, 1_000)).map((uuid) => idOf('con', uuid))
      await installation.startWorker()
      const generator = installation.startLoadGenerator()
      const others: Load = {
        urls: [api.url],
        key: workspace.key,
        asks: ids.flatMap((id) => [
          { method: 'GET', path: `/contacts/${id}` },
          { method: 'POST', path: '/contacts', body: { email: 'meanwhile{n}@example.com' } },
        ]),
        perSecond: 50,
        may503: true,
      }

      let mostRefused = 0
      async function whileBusy(): Promise<number> {
        const { key } = await installation.createWorkspace()
        const id = await createCampaign(sender, listId)
        const running = generator.start(others)
        await Promise.all([importPeople(api, key, rows), send(sender, id).then(() => waitForEnd(sender, id))])
        const { p99, refused } = await running.stop()
        mostRefused = Math.max(mostRefused, refused)
        return p99
      }
      // Not more, as every round adds a million rows.
      const rounds = Math.min(options.rounds, 3)
      const times = await takeTurns(
        { ...options, rounds },
        {
          busy: whileBusy,
          quiet: async () => (await generator.run(others, options.quick ? 1_000 : 20_000)).p99,
        },
        { warmUp: false },
      )
      const work = `while ${rows.toLocaleString('en')} rows are imported and a campaign goes to ${count.toLocaleString('en')}`
      return [
        {
          name: `GET /contacts/{id} and POST /contacts ${work}, p99`,
          unit: 'ms',
          values: times.busy,
          beside: { name: 'quiet', values: times.quiet },
          note: `at most ${show(mostRefused * 100)} % answered 503`,
        },
      ]
    }),
}
