import { idOf } from '@rapport/core/kernel/ids.ts'
import { toBareId, copyContactsToBare, createBareTables, assertSameShape } from '../baseline.ts'
import { type Bench, measureRounds } from '../measurements.ts'
import { call, withInstallation, type Server } from '../installation.ts'
import type { Load } from '../load.ts'
import { createMeter } from '../metering.ts'
import { insertContacts, pickContactIds } from '../contacts.ts'

export const reading: Bench = {
  about: 'GET /contacts/{id} and GET /contacts?limit=50 with a million contacts; baseline: a bare SELECT',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      const people = options.quick ? 20_000 : 1_000_000
      options.log(`inserting ${people.toLocaleString('en')} contacts`)
      await insertContacts(installation, workspace, people)
      await createBareTables(installation.client)
      await copyContactsToBare(installation.client)
      const uuids = await pickContactIds(installation, 1_000)
      const ids = uuids.map((uuid) => idOf('con', uuid))
      const bareIds = uuids.map(toBareId)
      const [api, bare] = [await installation.startApi(), await installation.startBare()]

      const [forMs, perSecond] = [options.quick ? 700 : 5_000, options.quick ? 100 : 200]
      const gets = (paths: string[]) => paths.map((path) => ({ method: 'GET' as const, path }))
      const { key } = workspace
      const one = { key, requests: gets(ids.map((id) => `/contacts/${id}`)) }
      const bareOne = { requests: gets(bareIds.map((id) => `/bare_contacts/${id}`)) }
      const page = { key, requests: gets(['/contacts?limit=50']) }
      const barePage = { requests: gets(['/bare_contacts']) }
      assertSameShape(await callFirst(api, one), await callFirst(bare, bareOne))
      assertSameShape(await callFirst(api, page), await callFirst(bare, barePage))

      const meter = createMeter(installation.startLoadGenerator(), { forMs, perSecond })
      const rates = await measureRounds(options, {
        one: meter.rate('one', api, one),
        'bare one': meter.rate('bare one', bare, bareOne),
        page: meter.rate('page', api, page),
        'bare page': meter.rate('bare page', bare, barePage),
      })
      const times = await measureRounds(options, {
        one: meter.p99(api, one),
        'bare one': meter.p99(bare, bareOne),
        page: meter.p99(api, page),
        'bare page': meter.p99(bare, barePage),
      })
      const pageName = `GET /contacts?limit=50 of ${people.toLocaleString('en')}`
      const select = 'bare SELECT by primary key'
      const selectPage = 'bare SELECT of 50 rows'
      const latencyName = `at ${perSecond} a second, p99`
      return [
        {
          name: 'GET /contacts/{id}',
          unit: 'requests/s',
          values: rates.one,
          baseline: { name: select, values: rates['bare one'] },
          target: { atLeast: 0.7 },
        },
        {
          name: pageName,
          unit: 'requests/s',
          values: rates.page,
          baseline: { name: selectPage, values: rates['bare page'] },
          target: { atLeast: 0.6 },
        },
        meter.cpuCostFigure('GET /contacts/{id}', 'one', { name: select, side: 'bare one' }),
        meter.cpuCostFigure(pageName, 'page', { name: selectPage, side: 'bare page' }),
        {
          name: `GET /contacts/{id} ${latencyName}`,
          unit: 'ms',
          values: times.one,
          baseline: { name: select, values: times['bare one'] },
        },
        {
          name: `${pageName} ${latencyName}`,
          unit: 'ms',
          values: times.page,
          baseline: { name: selectPage, values: times['bare page'] },
        },
      ]
    }),
}

async function callFirst(server: Server, { requests: [request], key = '' }: Omit<Load, 'urls'>): Promise<object> {
  return call(server, key, [`GET ${request?.path}`])
}
