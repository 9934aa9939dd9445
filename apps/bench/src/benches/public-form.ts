import { type Bench, measureRounds } from '../measurements.ts'
import { call, type Installation, withInstallation, type Server } from '../installation.ts'
import { createMeter } from '../metering.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { isResponding, waitUntil } from '../processes.ts'

const form = {
  name: 'Contact us',
  fields: [
    { label: 'First name', type: 'TEXT', mapsTo: 'firstName' },
    { label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { label: 'Topic', type: 'SELECT', options: ['Sales', 'Support', 'Something else'] },
    { label: 'Your message', type: 'TEXTAREA' },
    { label: 'Send me the monthly newsletter. I can unsubscribe at any time.', type: 'CONSENT' },
  ],
}

export const publicForm: Bench = {
  about: 'GET /public/forms/{id}; baselines: the same bytes with @fastify/rate-limit on Redis, and from a bare route',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const { key } = await installation.createWorkspace()
      const [api, bare] = [await installation.startApi(), await installation.startBare()]
      const stock = await startStockLimits(installation)
      const { id } = await call<{ id: string }>(api, key, ['POST /forms', form])
      const path = `/public/forms/${id}`
      const bytes = await (await fetch(api.url + path)).text()
      for (const server of [bare, stock]) await call(server, '', ['PUT /bytes', { bytes }])

      const meter = createMeter(installation.startLoadGenerator(), {
        forMs: options.quick ? 700 : 3_000,
        perSecond: 200,
      })
      const get = (path: string) => ({ requests: [{ method: 'GET' as const, path }] })
      const rates = await measureRounds(options, {
        ours: meter.rate('ours', api, get(path)),
        stock: meter.rate('stock', stock, get('/bytes')),
        bare: meter.rate('bare', bare, get('/bytes')),
      })
      return [
        {
          name: 'GET /public/forms/{id}',
          unit: 'requests/s',
          values: rates.ours,
          baseline: { name: 'same bytes, @fastify/rate-limit with its own Redis store', values: rates.stock },
          target: { atLeast: 0.9 },
        },
        {
          name: 'GET /public/forms/{id}',
          unit: 'requests/s',
          values: rates.ours,
          baseline: { name: 'bare route of the same bytes', values: rates.bare },
        },
        meter.cpuCostFigure('GET /public/forms/{id}', 'ours', { name: 'bare route of the same bytes', side: 'bare' }),
      ]
    }),
}

async function startStockLimits({ environment, processes }: Installation): Promise<Server> {
  const port = String(await findFreePort())
  const child = processes.fork('stock-limits-server.ts', { env: { ...environment, PORT: port } })
  const url = `http://127.0.0.1:${port}`
  await waitUntil(() => isResponding(url), { everyMs: 5, timeoutMs: 30_000 })
  return { child, url }
}
