/** Workspaces that have one record of each kind, and how to see that nothing of them was told or changed. */
import type { Me } from '@rapport/core/auth/auth.schema.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Pipeline } from '@rapport/core/pipelines/pipelines.schema.ts'
import { ageMails, failDeliveries } from '@rapport/testing/fixtures/factories.ts'
import { aFile, aForm, type Ids } from './isolation-cases.ts'
import { type Answer, freshEmail, type Json, type TestApi, type TestWorkspace } from './testing.ts'

/** Makes one record of each kind. */
export async function fillWorkspace(api: TestApi, workspace: TestWorkspace): Promise<Ids> {
  const { id, key, token } = workspace
  const make = async (path: string, body: Json) => String((await api.create(path, key, body))['id'])
  const makeContact = () => make('/contacts', { email: freshEmail() })
  const list = await make('/lists', { name: 'Letter', doubleOptIn: false })
  await make('/custom-fields', { key: 'stays', label: 'Stays', type: 'TEXT' })
  await make('/invites', { email: freshEmail(), role: 'VIEWER' })
  await api.call('POST', `/public/lists/${list}/subscribe`, { body: { email: 'both@example.com' } })
  const contact = await make('/contacts', { email: freshEmail(), tags: ['secret'] })
  const makePipeline = () =>
    api.create<Pipeline>('/pipelines', key, { name: 'Sales', stages: [{ name: 'Lead', winProbability: 10 }] })
  const pipeline = await makePipeline()
  const { body: me } = await api.call<Me>('GET', '/auth/me', { key: token })
  const form = await make('/forms', aForm)
  const submitted = await api.call('POST', `/public/forms/${form}/submit`, { body: { values: { news: true } } })
  const webhook = await make('/webhooks', { url: 'https://example.com', eventTypes: ['contact.deleted'] })
  const tested = await api.call('POST', `/webhooks/${webhook}/test`, { key })
  await failDeliveries(api.database.db)
  const invite = await make('/invites', { email: freshEmail(), role: 'MEMBER' })
  await ageMails(api.database.db)
  return {
    workspace: id,
    list,
    contact,
    pipeline: pipeline.id,
    stage: pipeline.stages[0]?.id ?? '',
    emptyPipeline: (await makePipeline()).id,
    deal: await make('/deals', { pipelineId: pipeline.id, contactId: contact }),
    task: await make(`/contacts/${contact}/tasks`, { title: 'Call', assigneeId: me.user?.id }),
    user: me.user?.id ?? '',
    campaign: await make('/campaigns', { name: 'a', subject: 'b', listId: list }),
    draft: await make('/campaigns', { name: 'a', subject: 'b', listId: list }),
    webhook,
    lastWebhook: await make('/webhooks', { url: 'https://example.com', eventTypes: ['deal.deleted'] }),
    delivery: String(tested.body['id']),
    event: String(tested.body['eventId']),
    apiKey: await make('/api-keys', { name: 'to be revoked', role: 'VIEWER' }),
    invite,
    member: (await api.join(workspace, 'VIEWER')).id,
    session: await openAnotherSession(api, workspace),
    duplicates: [await makeContact(), await makeContact(), await makeContact()],
    customField: await make('/custom-fields', { key: 'plan', label: 'Plan', type: 'TEXT' }),
    form,
    submission: String(submitted.body['submissionId']),
    spareList: await make('/lists', { name: 'Spare' }),
    import: String((await api.call('POST', '/contacts/import', { key, ...aFile })).body['id']),
  }
}

/** Answers its id. */
async function openAnotherSession(api: TestApi, { email, password, token }: TestWorkspace): Promise<string> {
  await api.call('POST', '/auth/login', { body: { email, password } })
  const { body } = await api.call<{ data: { id: string }[] }>('GET', '/sessions', { key: token })
  return body.data[0]?.id ?? ''
}

/** Every row of the workspace, in every table that there is. */
export async function readEverything(api: TestApi, workspaceId = ''): Promise<Json> {
  const tables = await api.query(
    `select table_name as name from information_schema.columns where column_name = 'workspace_id' order by 1`,
  )
  if (tables.length <= 10) throw new Error('There are more tables than that')
  const parts = tables.map(
    ({ name }) => `select '${String(name)}' as name,
    (select coalesce(jsonb_agg(to_jsonb(t) - 'last_used_at' order by t::text), '[]') from ${String(name)} t
     where workspace_id = $1) as rows`,
  )
  const found = await api.query(parts.join(' union all '), [uuidOf(Id('wsp').parse(workspaceId))])
  return Object.fromEntries(found.map(({ name, rows }) => [String(name), rows]))
}

/** All that a caller can tell two answers apart by. */
export function told({ status, text, headers }: Answer<unknown>) {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, text, headers: rest }
}
