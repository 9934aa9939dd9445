import { type Bench, takeTurns } from '../figures.ts'
import { call, onInstallation, type Server } from '../installation.ts'
import { processorMsOf } from '../processes.ts'

const form = {
  name: 'Contact us',
  fields: [
    { label: 'First name', type: 'TEXT', mapsTo: 'firstName' },
    { label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { label: 'Topic', type: 'SELECT', options: ['Sales', 'Support', 'Something else'] },
    { label: 'Your message', type: 'TEXTAREA' },
    { label: 'Send me the monthly letter. I can leave at any time.', type: 'CONSENT' },
  ],
}

export const publicForm: Bench = {
  about: 'GET /public/forms/{id}, as every visitor asks for it, beside a bare route with the same bytes in memory',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const { key } = await installation.createWorkspace()
      const [api, bare] = [await installation.startApi(), await installation.startBare()]
      const { id } = await call<{ id: string }>(api, key, ['POST /forms', form])
      const path = `/public/forms/${id}`
      const bytes = await (await fetch(api.url + path)).text()
      await call(bare, '', ['PUT /bytes', { bytes }])

      const generator = installation.startLoadGenerator()
      const forMs = options.quick ? 700 : 3_000
      const costs: Record<'ours' | 'bare', number[]> = { ours: [], bare: [] }
      /** Also in processor time of the server: what is left of a rate where others want the processor too. */
      const rate =
        (side: 'ours' | 'bare', { child, url }: Server) =>
        async () => {
          const before = await processorMsOf(child)
          const asks = [{ method: 'GET' as const, path: side === 'ours' ? path : '/bytes' }]
          const { perSecond } = await generator.run({ urls: [url], asks }, forMs)
          costs[side].push((((await processorMsOf(child)) - before) * 1_000_000) / (perSecond * forMs))
          return perSecond
        }
      const rates = await takeTurns(options, { ours: rate('ours', api), bare: rate('bare', bare) })
      return [
        {
          name: 'GET /public/forms/{id}',
          unit: 'requests/s',
          values: rates.ours,
          beside: { name: 'bare route of the same bytes', values: rates.bare },
          target: { atLeast: 0.5 },
        },
        {
          name: 'GET /public/forms/{id}, processor time of the server',
          unit: 'µs a request',
          values: costs.ours.slice(1),
          beside: { name: 'bare route of the same bytes', values: costs.bare.slice(1) },
        },
      ]
    }),
}
