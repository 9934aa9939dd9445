import { idOf } from '@rapport/core/kernel/ids.ts'
import { type Bench, takeTurns } from '../figures.ts'
import { call, onInstallation } from '../installation.ts'
import type { Ask } from '../load.ts'
import { fillContacts, someContacts } from '../people.ts'

interface Pipeline {
  id: string
  stages: { id: string }[]
}

export const movingDeals: Bench = {
  about: 'POST /deals beside POST /contacts, and the move of a deal beside a change of a contact',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      await fillContacts(installation, workspace, 1_000)
      const { key } = workspace
      const contactIds = (await someContacts(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const api = await installation.startApi()
      const { data } = await call<{ data: Pipeline[] }>(api, key, ['GET /pipelines'])
      const [{ id: pipelineId, stages } = { id: '', stages: [] }] = data
      const dealOf = (contactId: string) => ({ pipelineId, contactId, name: 'Deal {n}', valueCents: 4200 })
      const dealIds: string[] = []
      for (const contactId of contactIds.slice(0, 200))
        dealIds.push((await call<{ id: string }>(api, key, ['POST /deals', dealOf(contactId)])).id)

      const generator = installation.startLoadGenerator()
      const rate = (asks: Ask[]) => async () =>
        (await generator.run({ urls: [api.url], asks, key, connections: 16 }, options.quick ? 700 : 3_000)).perSecond
      const email = 'deal{n}@example.com'
      const rates = await takeTurns(options, {
        'POST /contacts': rate([
          { method: 'POST', path: '/contacts', body: { email, firstName: 'Ada', lastName: 'L.' } },
        ]),
        'POST /deals': rate(contactIds.map((id) => ({ method: 'POST', path: '/deals', body: dealOf(id) }))),
        'PATCH /contacts/{id}': rate(
          contactIds.map((id) => ({ method: 'PATCH', path: `/contacts/${id}`, body: { company: 'Company {n}' } })),
        ),
        // Every deal to the first stage, then every deal to the second: each is a move.
        'PATCH /deals/{id}': rate(
          stages.flatMap(({ id: stageId }) =>
            dealIds.map((id): Ask => ({ method: 'PATCH', path: `/deals/${id}`, body: { stageId } })),
          ),
        ),
      })
      return [
        {
          name: 'POST /deals',
          unit: 'requests/s',
          values: rates['POST /deals'],
          beside: { name: 'POST /contacts', values: rates['POST /contacts'] },
          target: { atLeast: 0.8 },
        },
        {
          name: 'PATCH /deals/{id} to another stage',
          unit: 'requests/s',
          values: rates['PATCH /deals/{id}'],
          beside: { name: 'PATCH /contacts/{id}', values: rates['PATCH /contacts/{id}'] },
        },
      ]
    }),
}
