import { type Bench, takeTurns } from '../figures.ts'
import { call, onInstallation } from '../installation.ts'
import { meterServers } from '../metering.ts'

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

      const meter = meterServers(installation.startLoadGenerator(), {
        forMs: options.quick ? 700 : 3_000,
        perSecond: 200,
      })
      const get = (path: string) => ({ asks: [{ method: 'GET' as const, path }] })
      const rates = await takeTurns(options, {
        ours: meter.rate('ours', api, get(path)),
        bare: meter.rate('bare', bare, get('/bytes')),
      })
      return [
        {
          name: 'GET /public/forms/{id}',
          unit: 'requests/s',
          values: rates.ours,
          beside: { name: 'bare route of the same bytes', values: rates.bare },
          target: { atLeast: 0.5 },
        },
        meter.costFigure('GET /public/forms/{id}', 'ours', { name: 'bare route of the same bytes', side: 'bare' }),
      ]
    }),
}
