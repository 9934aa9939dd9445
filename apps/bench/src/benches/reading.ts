import { idOf } from '@rapport/core/ids.ts'
import { copyToBare, createBareTables, mustBeAlike } from '../baseline.ts'
import { type Bench, takeTurns } from '../figures.ts'
import { call, onInstallation } from '../installation.ts'
import type { Load } from '../load.ts'
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
      const ids = (await someContacts(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const bareIds = await someContacts(installation, 1_000, 'bare_contacts')
      const [api, bare] = [await installation.startApi(), await installation.startBare()]

      const generator = installation.startLoadGenerator()
      const [forMs, perSecond] = [options.quick ? 700 : 5_000, options.quick ? 100 : 200]
      const gets = (paths: string[]) => paths.map((path) => ({ method: 'GET' as const, path }))
      const ours = { urls: [api.url], key: workspace.key }
      const one: Load = { ...ours, asks: gets(ids.map((id) => `/contacts/${id}`)) }
      const bareOne: Load = { urls: [bare.url], asks: gets(bareIds.map((id) => `/bare_contacts/${id}`)) }
      const page: Load = { ...ours, asks: gets(['/contacts?limit=50']) }
      const barePage: Load = { urls: [bare.url], asks: gets(['/bare_contacts']) }
      for (const [its, theirs] of [
        [one, bareOne],
        [page, barePage],
      ] as const)
        mustBeAlike(await readFirst(its), await readFirst(theirs))

      const rate = (load: Load) => async () => (await generator.run(load, forMs)).perSecond
      const p99 = (load: Load) => async () => (await generator.run({ ...load, perSecond }, forMs)).p99
      const rates = await takeTurns(options, {
        one: rate(one),
        'bare one': rate(bareOne),
        page: rate(page),
        'bare page': rate(barePage),
      })
      const times = await takeTurns(options, {
        one: p99(one),
        'bare one': p99(bareOne),
        page: p99(page),
        'bare page': p99(barePage),
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

async function readFirst({ urls: [url = ''], key = '', asks: [ask] }: Load): Promise<object> {
  return call({ url }, key, [`GET ${ask?.path}`])
}
