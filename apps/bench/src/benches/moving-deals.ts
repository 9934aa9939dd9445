import { idOf } from '@rapport/core/kernel/ids.ts'
import { type Bench, measureRounds } from '../measurements.ts'
import { call, withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { insertContacts, pickContactIds } from '../contacts.ts'

interface Pipeline {
  id: string
  stages: { id: string }[]
}

export const movingDeals: Bench = {
  about: 'POST /deals and moving a deal to another stage; baselines: POST /contacts and PATCH /contacts/{id}',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      await insertContacts(installation, workspace, 1_000)
      const { key } = workspace
      const contactIds = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const api = await installation.startApi()
      const { data } = await call<{ data: Pipeline[] }>(api, key, ['GET /pipelines'])
      const [{ id: pipelineId, stages } = { id: '', stages: [] }] = data
      const dealOf = (contactId: string) => ({ pipelineId, contactId, name: 'Deal {n}', valueCents: 4200 })
      const dealIds: string[] = []
      for (const contactId of contactIds.slice(0, 200))
        dealIds.push((await call<{ id: string }>(api, key, ['POST /deals', dealOf(contactId)])).id)

      const generator = installation.startLoadGenerator()
      const rate = (requests: LoadRequest[]) => async () =>
        (await generator.run({ urls: [api.url], requests, key, connections: 16 }, options.quick ? 700 : 3_000))
          .perSecond
      const email = 'deal{n}@example.com'
      const rates = await measureRounds(options, {
        'POST /contacts': rate([
          { method: 'POST', path: '/contacts', body: { email, firstName: 'Ada', lastName: 'L.' } },
        ]),
        'POST /deals': rate(contactIds.map((id) => ({ method: 'POST', path: '/deals', body: dealOf(id) }))),
        'PATCH /contacts/{id}': rate(
          contactIds.map((id) => ({ method: 'PATCH', path: `/contacts/${id}`, body: { company: 'Company {n}' } })),
        ),
        // Moves every deal to the first stage, then every deal to the second, so that each request is a move.
        'PATCH /deals/{id}': rate(
          stages.flatMap(({ id: stageId }) =>
            dealIds.map((id): LoadRequest => ({ method: 'PATCH', path: `/deals/${id}`, body: { stageId } })),
          ),
        ),
      })
      return [
        {
          name: 'POST /deals',
          unit: 'requests/s',
          values: rates['POST /deals'],
          baseline: { name: 'POST /contacts', values: rates['POST /contacts'] },
          target: { atLeast: 0.7 },
        },
        {
          name: 'PATCH /deals/{id} to another stage',
          unit: 'requests/s',
          values: rates['PATCH /deals/{id}'],
          baseline: { name: 'PATCH /contacts/{id}', values: rates['PATCH /contacts/{id}'] },
          target: { atLeast: 0.7 },
        },
      ]
    }),
}
