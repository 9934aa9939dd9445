import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { createBareTables, assertSameShape } from '../baseline.ts'
import { type Bench, measureRounds } from '../measurements.ts'
import { call, withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { createMeter } from '../metering.ts'

const person = { email: 'person{n}@example.com', firstName: 'Ada', lastName: 'Lovelace' }
const creation: LoadRequest = { method: 'POST', path: '/contacts', body: person }

export const creating: Bench = {
  about: 'POST /contacts, without and with a subscribed webhook; baseline: a bare INSERT … RETURNING',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      await createBareTables(installation.client)
      const receiver = await installation.startReceiver()
      const [alone, subscribed] = [await installation.createWorkspace(), await installation.createWorkspace()]
      await createWebhook(subscribed.ctx, { url: receiver.url, eventTypes: ['contact.created'] })
      const [api, bare] = [await installation.startApi(), await installation.startBare()]
      const first = { ...person, email: 'first@example.com' }
      assertSameShape(
        await call(api, alone.key, ['POST /contacts', first]),
        await call(bare, '', ['POST /bare_contacts', first]),
      )

      const [forMs, perSecond] = [options.quick ? 700 : 5_000, options.quick ? 100 : 200]
      const meter = createMeter(installation.startLoadGenerator(), { forMs, perSecond })
      const ours = { requests: [creation], key: alone.key }
      const bareInto = (table: string) => ({ requests: [{ ...creation, path: `/${table}` }] })
      const rates = await measureRounds(options, {
        ours: meter.rate('ours', api, ours),
        'with a webhook': meter.rate('subscribed', api, { ...ours, key: subscribed.key }),
        bare: meter.rate('bare', bare, bareInto('bare_contacts')),
        'bare with our indexes': meter.rate('indexed', bare, bareInto('indexed_contacts')),
      })
      const times = await measureRounds(options, {
        ours: meter.p99(api, ours),
        bare: meter.p99(bare, bareInto('bare_contacts')),
      })
      const unit = 'requests/s'
      return [
        {
          name: 'POST /contacts',
          unit,
          values: rates.ours,
          baseline: { name: 'bare INSERT', values: rates.bare },
          target: { atLeast: 0.6 },
        },
        {
          name: 'POST /contacts, a webhook listening, worker idle',
          unit,
          values: rates['with a webhook'],
          baseline: { name: 'without the webhook', values: rates.ours },
          target: { atLeast: 0.6 },
        },
        {
          name: 'POST /contacts',
          unit,
          values: rates.ours,
          baseline: { name: 'bare INSERT into a table with all our indexes', values: rates['bare with our indexes'] },
        },
        meter.cpuCostFigure('POST /contacts', 'ours', { name: 'bare INSERT', side: 'bare' }),
        {
          name: `POST /contacts at ${perSecond} a second, p99`,
          unit: 'ms',
          values: times.ours,
          baseline: { name: 'bare INSERT', values: times.bare },
        },
      ]
    }),
}
