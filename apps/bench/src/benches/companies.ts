import { type Bench, measureRounds } from '../measurements.ts'
import { call, withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { insertContacts } from '../contacts.ts'

const company = { name: 'Company {n}', domain: 'company{n}.example' }
const person = { email: 'person-{n}@example.org', firstName: 'Ada', lastName: 'Lovelace' }

export const companiesOfContacts: Bench = {
  about: 'POST /companies and a page of the contacts of a company; baselines: POST /contacts and a filtered page',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      await insertContacts(installation, workspace, options.quick ? 10_000 : 200_000)
      const { key } = workspace
      const api = await installation.startApi()
      const { id } = await call<{ id: string }>(api, key, ['POST /companies', { name: 'Acme' }])
      // The same contacts by two indexes, one in a hundred.
      await installation.client.query(`
        update contacts set source = 'acme', company_id = (select id from companies limit 1)
        where id in (select id from contacts order by id limit (select count(*) / 100 from contacts))`)
      await installation.client.query('vacuum analyze')

      const generator = installation.startLoadGenerator()
      const rate = (request: LoadRequest) => async () => {
        const load = { urls: [api.url], requests: [request], key, connections: 16 }
        return (await generator.run(load, options.quick ? 700 : 3_000)).perSecond
      }
      const rates = await measureRounds(options, {
        'POST /contacts': rate({ method: 'POST', path: '/contacts', body: person }),
        'POST /companies': rate({ method: 'POST', path: '/companies', body: company }),
        'a filtered page': rate({ method: 'GET', path: '/contacts?source=acme' }),
        'a page of a company': rate({ method: 'GET', path: `/companies/${id}/contacts` }),
      })
      return [
        {
          name: 'POST /companies',
          unit: 'requests/s',
          values: rates['POST /companies'],
          baseline: { name: 'POST /contacts', values: rates['POST /contacts'] },
          target: { atLeast: 0.9 },
        },
        {
          name: 'GET /companies/{id}/contacts',
          unit: 'requests/s',
          values: rates['a page of a company'],
          baseline: { name: 'GET /contacts?source=…', values: rates['a filtered page'] },
          target: { atLeast: 0.9 },
        },
      ]
    }),
}
