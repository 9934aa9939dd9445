import { idOf } from '@rapport/core/kernel/ids.ts'
import { type Bench, measureRounds } from '../measurements.ts'
import { call, withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { insertContacts, pickContactIds } from '../contacts.ts'

const text = 'Asked for an offer for 25 seats. '.repeat(10)

export const noting: Bench = {
  about: 'POST /notes, also about a contact and its deal, and a page of notes; baselines: tasks',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      await insertContacts(installation, workspace, 1_000)
      const { key } = workspace
      const contactIds = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
      const api = await installation.startApi()
      const { data } = await call<{ data: { id: string }[] }>(api, key, ['GET /pipelines'])
      const pipelineId = data[0]?.id
      const ofDeals: LoadRequest[] = []
      for (const contactId of contactIds.slice(0, 200)) {
        const { id: dealId } = await call<{ id: string }>(api, key, ['POST /deals', { pipelineId, contactId }])
        ofDeals.push({ method: 'POST', path: '/notes', body: { dealId, body: text } })
      }
      const generator = installation.startLoadGenerator()
      const rate = (requests: LoadRequest[]) => async () =>
        (await generator.run({ urls: [api.url], requests, key, connections: 16 }, options.quick ? 700 : 3_000))
          .perSecond
      const ofContacts = (toRequest: (id: string) => LoadRequest) => rate(contactIds.map(toRequest))
      const rates = await measureRounds(options, {
        'POST /tasks': ofContacts((id) => ({
          method: 'POST',
          path: `/contacts/${id}/tasks`,
          body: { title: 'Call', notes: text },
        })),
        'POST /notes': ofContacts((contactId) => ({ method: 'POST', path: '/notes', body: { contactId, body: text } })),
        'POST /notes of a deal': rate(ofDeals),
        'GET /tasks': ofContacts((id) => ({ method: 'GET', path: `/tasks?contactId=${id}` })),
        'GET /notes': ofContacts((id) => ({ method: 'GET', path: `/notes?contactId=${id}` })),
      })
      const creating = { name: 'POST /contacts/{contactId}/tasks', values: rates['POST /tasks'] }
      return [
        { name: 'POST /notes', unit: 'requests/s', values: rates['POST /notes'], baseline: creating },
        {
          name: 'POST /notes about a deal',
          unit: 'requests/s',
          values: rates['POST /notes of a deal'],
          baseline: creating,
        },
        {
          name: 'GET /notes of a contact',
          unit: 'requests/s',
          values: rates['GET /notes'],
          baseline: { name: 'GET /tasks of a contact', values: rates['GET /tasks'] },
          target: { atLeast: 0.7 },
        },
      ]
    }),
}
