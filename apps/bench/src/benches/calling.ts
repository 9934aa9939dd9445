import { idOf } from '@rapport/core/kernel/ids.ts'
import { Rapport } from '@rapport/sdk'
import { insertContacts, pickContactIds } from '../contacts.ts'
import { withInstallation } from '../installation.ts'
import { type Bench, median, timed } from '../measurements.ts'

/** One request at a time, as the latency of a call is what a program waits for. */
export const calling: Bench = {
  about: 'rapport.contacts.get of @rapport/sdk; baseline: bare fetch of the same URL',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      installation.environment['RATE_LIMIT_EXEMPT'] = '127.0.0.0/8'
      const workspace = await installation.createWorkspace()
      await insertContacts(installation, workspace, 1_000)
      const [uuid = ''] = await pickContactIds(installation, 1)
      const id = idOf('con', uuid)
      const { url } = await installation.startApi()
      const rapport = new Rapport({ baseUrl: url, apiKey: workspace.key })
      const headers = { authorization: `Bearer ${workspace.key}` }
      const sides = {
        sdk: () => rapport.contacts.get(id),
        bare: async () => (await fetch(`${url}/contacts/${id}`, { headers })).json(),
      }
      const calls = options.quick ? 200 : 1_000
      const medians: Record<keyof typeof sides, number[]> = { sdk: [], bare: [] }
      // Alternates with each call, as the difference is smaller than that between two moments of a busy machine.
      for (let round = 0; round <= options.rounds; round += 1) {
        const times: typeof medians = { sdk: [], bare: [] }
        for (let done = 0; done < calls; done += 1) {
          times.sdk.push(await timed(sides.sdk))
          times.bare.push(await timed(sides.bare))
        }
        options.log(`round ${round}: sdk ${median(times.sdk).toFixed(3)} ms, bare ${median(times.bare).toFixed(3)} ms`)
        if (round === 0) continue
        medians.sdk.push(median(times.sdk))
        medians.bare.push(median(times.bare))
      }
      return [
        {
          name: 'rapport.contacts.get, one at a time, p50',
          unit: 'ms',
          values: medians.sdk,
          baseline: { name: 'bare fetch', values: medians.bare },
          target: { atMost: 1.1 },
        },
      ]
    }),
}
