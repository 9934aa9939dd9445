import { createWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { createBareTables, mustBeAlike } from '../baseline.ts'
import { type Bench, takeTurns } from '../figures.ts'
import { call, onInstallation } from '../installation.ts'
import type { Ask } from '../load.ts'
import { meterServers } from '../metering.ts'

const person = { email: 'person{n}@example.com', firstName: 'Ada', lastName: 'Lovelace' }
const creation: Ask = { method: 'POST', path: '/contacts', body: person }

export const creating: Bench = {
  about: 'POST /contacts beside a bare INSERT … RETURNING, and with a webhook that listens',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      await createBareTables(installation.client)
      const receiver = await installation.startReceiver()
      const [alone, heard] = [await installation.createWorkspace(), await installation.createWorkspace()]
      await createWebhook(heard.ctx, { url: receiver.url, eventTypes: ['contact.created'] })
      const [api, bare] = [await installation.startApi(), await installation.startBare()]
      const first = { ...person, email: 'first@example.com' }
      mustBeAlike(
        await call(api, alone.key, ['POST /contacts', first]),
        await call(bare, '', ['POST /bare_contacts', first]),
      )

      const [forMs, perSecond] = [options.quick ? 700 : 5_000, options.quick ? 100 : 200]
      const meter = meterServers(installation.startLoadGenerator(), { forMs, perSecond })
      const ours = { asks: [creation], key: alone.key }
      const bareInto = (table: string) => ({ asks: [{ ...creation, path: `/${table}` }] })
      const rates = await takeTurns(options, {
        ours: meter.rate('ours', api, ours),
        'with a webhook': meter.rate('heard', api, { ...ours, key: heard.key }),
        bare: meter.rate('bare', bare, bareInto('bare_contacts')),
        'bare with our indexes': meter.rate('indexed', bare, bareInto('indexed_contacts')),
      })
      const times = await takeTurns(options, {
        ours: meter.p99(api, ours),
        bare: meter.p99(bare, bareInto('bare_contacts')),
      })
      const unit = 'requests/s'
      return [
        {
          name: 'POST /contacts',
          unit,
          values: rates.ours,
          beside: { name: 'bare INSERT', values: rates.bare },
          target: { atLeast: 0.5 },
        },
        {
          name: 'POST /contacts, a webhook listening, worker idle',
          unit,
          values: rates['with a webhook'],
          beside: { name: 'without the webhook', values: rates.ours },
          target: { atLeast: 0.6 },
        },
        {
          name: 'POST /contacts',
          unit,
          values: rates.ours,
          beside: { name: 'bare INSERT into a table with all our indexes', values: rates['bare with our indexes'] },
        },
        meter.costFigure('POST /contacts', 'ours', { name: 'bare INSERT', side: 'bare' }),
        {
          name: `POST /contacts at ${perSecond} a second, p99`,
          unit: 'ms',
          values: times.ours,
          beside: { name: 'bare INSERT', values: times.bare },
        },
      ]
    }),
}
