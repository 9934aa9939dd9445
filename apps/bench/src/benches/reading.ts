import { idOf } from '@rapport/core/kernel/ids.ts'
import { bareIdOf, copyToBare, createBareTables, mustBeAlike } from '../baseline.ts'
import { type Bench, takeTurns } from '../figures.ts'
import { call, onInstallation, type Server } from '../installation.ts'
import type { Load } from '../load.ts'
import { meterServers } from '../metering.ts'
import { fillContacts, someContacts } from '../people.ts'

export const reading: Bench = {
  about: 'GET /contacts/{id} and GET /contacts?limit=50 of a million beside a bare SELECT',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      const people = options.quick ? 20_000 : 1_000_000
      options.say(`filling in ${people.toLocaleString('en')} contacts`)
      await fillContacts(installation, workspace, people)
      await createBareTables(installation.client)
      await copyToBare(installation.client)
      const uuids = await someContacts(installation, 1_000)
      const ids = uuids.map((uuid) => idOf('con', uuid))
      const bareIds = uuids.map(bareIdOf)
      const [api, bare] = [await installation.startApi(), await installation.startBare()]

      const [forMs, perSecond] = [options.quick ? 700 : 5_000, options.quick ? 100 : 200]
      const gets = (paths: string[]) => paths.map((path) => ({ method: 'GET' as const, path }))
      const { key } = workspace
      const one = { key, asks: gets(ids.map((id) => `/contacts/${id}`)) }
      const bareOne = { asks: gets(bareIds.map((id) => `/bare_contacts/${id}`)) }
      const page = { key, asks: gets(['/contacts?limit=50']) }
      const barePage = { asks: gets(['/bare_contacts']) }
      mustBeAlike(await readFirst(api, one), await readFirst(bare, bareOne))
      mustBeAlike(await readFirst(api, page), await readFirst(bare, barePage))

      const meter = meterServers(installation.startLoadGenerator(), { forMs, perSecond })
      const rates = await takeTurns(options, {
        one: meter.rate('one', api, one),
        'bare one': meter.rate('bare one', bare, bareOne),
        page: meter.rate('page', api, page),
        'bare page': meter.rate('bare page', bare, barePage),
      })
      const times = await takeTurns(options, {
        one: meter.p99(api, one),
        'bare one': meter.p99(bare, bareOne),
        page: meter.p99(api, page),
        'bare page': meter.p99(bare, barePage),
      })
      const pageName = `GET /contacts?limit=50 of ${people.toLocaleString('en')}`
      const select = 'bare SELECT by primary key'
      const selectPage = 'bare SELECT of 50 rows'
      const paced = `at ${perSecond} a second, p99`
      const target = { atLeast: 0.6 }
      return [
        {
          name: 'GET /contacts/{id}',
          unit: 'requests/s',
          values: rates.one,
          beside: { name: select, values: rates['bare one'] },
          target,
        },
        {
          name: pageName,
          unit: 'requests/s',
          values: rates.page,
          beside: { name: selectPage, values: rates['bare page'] },
          target,
        },
        meter.costFigure('GET /contacts/{id}', 'one', { name: select, side: 'bare one' }),
        meter.costFigure(pageName, 'page', { name: selectPage, side: 'bare page' }),
        {
          name: `GET /contacts/{id} ${paced}`,
          unit: 'ms',
          values: times.one,
          beside: { name: select, values: times['bare one'] },
        },
        {
          name: `${pageName} ${paced}`,
          unit: 'ms',
          values: times.page,
          beside: { name: selectPage, values: times['bare page'] },
        },
      ]
    }),
}

async function readFirst(server: Server, { asks: [ask], key = '' }: Omit<Load, 'urls'>): Promise<object> {
  return call(server, key, [`GET ${ask?.path}`])
}
