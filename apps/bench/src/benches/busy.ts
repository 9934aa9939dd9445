import { idOf } from '@rapport/core/ids.ts'
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
      const load = (asks: Load['asks']): Load => ({
        urls: [api.url],
        key: workspace.key,
        asks,
        perSecond: 50,
        may503: true,
      })
      const reads = load(ids.map((id) => ({ method: 'GET', path: `/contacts/${id}` })))
      const writes = load([{ method: 'POST', path: '/contacts', body: { email: 'meanwhile{n}@example.com' } }])

      let mostRefused = 0
      const quiet = (asked: Load) => async () => (await generator.run(asked, options.quick ? 1_000 : 20_000)).p99
      const whileBusy = (asked: Load) => async () => {
        const { key } = await installation.createWorkspace()
        const id = await createCampaign(sender, listId)
        const running = generator.start(asked)
        await Promise.all([importPeople(api, key, rows), send(sender, id).then(() => waitForEnd(sender, id))])
        const { p99, refused } = await running.stop()
        mostRefused = Math.max(mostRefused, refused)
        return p99
      }
      const few = { ...options, rounds: Math.min(options.rounds, 3) }
      const times = await takeTurns(
        few,
        {
          reads: whileBusy(reads),
          'quiet reads': quiet(reads),
          writes: whileBusy(writes),
          'quiet writes': quiet(writes),
        },
        { warmUp: false },
      )
      const meanwhile = `while ${rows.toLocaleString('en')} rows are imported and a campaign goes to ${count.toLocaleString('en')}, p99`
      const note = `at most ${show(mostRefused * 100)} % answered 503`
      return [
        {
          name: `GET /contacts/{id} ${meanwhile}`,
          unit: 'ms',
          values: times.reads,
          beside: { name: 'quiet', values: times['quiet reads'] },
          note,
        },
        {
          name: `POST /contacts ${meanwhile}`,
          unit: 'ms',
          values: times.writes,
          beside: { name: 'quiet', values: times['quiet writes'] },
          note,
        },
      ]
    }),
}
