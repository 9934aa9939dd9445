import { type Bench, takeTurns } from '../figures.ts'
import { call, type Installation, onInstallation, type Server } from '../installation.ts'
import { meterServers } from '../metering.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { isAnswering, until } from '../processes.ts'

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
  about:
    'GET /public/forms/{id}, as every visitor asks for it, beside the same bytes behind the stock limiter, and bare',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const { key } = await installation.createWorkspace()
      const [api, bare] = [await installation.startApi(), await installation.startBare()]
      const stock = await startStockLimits(installation)
      const { id } = await call<{ id: string }>(api, key, ['POST /forms', form])
      const path = `/public/forms/${id}`
      const bytes = await (await fetch(api.url + path)).text()
      for (const server of [bare, stock]) await call(server, '', ['PUT /bytes', { bytes }])

      const meter = meterServers(installation.startLoadGenerator(), {
        forMs: options.quick ? 700 : 3_000,
        perSecond: 200,
      })
      const get = (path: string) => ({ asks: [{ method: 'GET' as const, path }] })
      const rates = await takeTurns(options, {
        ours: meter.rate('ours', api, get(path)),
        stock: meter.rate('stock', stock, get('/bytes')),
        bare: meter.rate('bare', bare, get('/bytes')),
      })
      return [
        {
          name: 'GET /public/forms/{id}',
          unit: 'requests/s',
          values: rates.ours,
          beside: { name: 'same bytes, @fastify/rate-limit with its own Redis store', values: rates.stock },
          target: { atLeast: 1 },
        },
        {
          name: 'GET /public/forms/{id}',
          unit: 'requests/s',
          values: rates.ours,
          beside: { name: 'bare route of the same bytes', values: rates.bare },
        },
        meter.costFigure('GET /public/forms/{id}', 'ours', { name: 'bare route of the same bytes', side: 'bare' }),
      ]
    }),
}

async function startStockLimits({ environment, processes }: Installation): Promise<Server> {
  const port = String(await findFreePort())
  const child = processes.fork('stock-limits-server.ts', { env: { ...environment, PORT: port } })
  const url = `http://127.0.0.1:${port}`
  await until(() => isAnswering(url), { everyMs: 5, timeoutMs: 30_000 })
  return { child, url }
}
