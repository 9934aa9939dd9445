import { PersonExport } from '@rapport/core/operations/contacts/person-export.schema.ts'
import { claimTestBatch, sendTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestWorker, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { aTimestamp, anId, freshAddress, freshEmail, type Json, startTestApi, type TestWorkspace } from '../testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
beforeAll(async () => {
  workspace = await api.signUp()
})

const create = async (path: string, body: object) => api.create<{ id: string }>(path, workspace.key, body)
const exportPerson = (id: string, key = workspace.key) => api.call('GET', `/contacts/${id}/export`, { key })

const parse = (body: Json) => PersonExport.strict().parse(body) as unknown as Record<string, Json[]>

/** Creates a contact with a record of each kind, and a duplicate that is merged into it. */
async function createPerson() {
  const email = freshEmail()
  const { id } = await create('/contacts', { email, firstName: 'Ada', phone: '+44 1' })
  const list = await create('/lists', { name: 'News', doubleOptIn: true })
  const fields = [
    { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { id: 'news', label: 'Yes, send me news.', type: 'CONSENT', required: true },
  ]
  const form = await create('/forms', { name: 'Sign up', listId: list.id, fields })
  const address = freshAddress()
  await api.call('POST', `/public/forms/${form.id}/submit`, { body: { values: { email, news: true } }, from: address })
  const token = await api.tokenMailedTo(email)
  await api.call('POST', `/public/subscriptions/confirm?token=${token}`, { from: address })
  const pipeline = (await api.call<{ data: { id: string }[] }>('GET', '/pipelines', { key: workspace.key })).body
    .data[0]
  const deal = await create('/deals', { name: 'Machine', contactId: id, pipelineId: pipeline?.id })
  const task = await create(`/contacts/${id}/tasks`, { title: 'Call back' })
  const note = await create('/notes', { contactId: id, body: 'Called' })
  const campaign = await create('/campaigns', { name: 'November', subject: 'Hi', listId: list.id, text: 'Hello' })
  expect((await api.call('POST', `/campaigns/${campaign.id}/send`, { key: workspace.key })).status).toBe(202)
  const ctx = api.ctx(workspace.id)
  const [batch] = (await listPendingWork(ctx, 'campaigns')).slice(-1)
  await sendTestBatch(ctx, await claimTestBatch(ctx, batch, await createTestWorker(ctx.db)))
  const duplicateEmail = freshEmail()
  const duplicate = await create('/contacts', { email: duplicateEmail })
  await create(`/lists/${list.id}/subscribers`, { contactId: duplicate.id })
  await api.call('POST', `/contacts/${id}/merge`, { key: workspace.key, body: { contactId: duplicate.id } })
  return { id, email, duplicateEmail, address, list, form, deal, task, note, campaign, duplicate }
}

test('GET /contacts/{id}/export: everything that was created, as documented', async () => {
  const person = await createPerson()
  const { id, email, duplicateEmail, address } = person
  await api.query('update campaign_recipients set opens_tracked = true')
  const response = await exportPerson(id)
  expect([response.status, response.headers['content-type'], response.headers['content-disposition']]).toEqual([
    200,
    'application/json; charset=utf-8',
    `attachment; filename="${id}.json"`,
  ])
  const exported = parse(response.body)
  expect(Object.keys(response.body)).toEqual(Object.keys(PersonExport.shape))
  const contact = await api.call('GET', `/contacts/${id}`, { key: workspace.key })
  expect(exported).toMatchObject({
    exportedAt: aTimestamp,
    contact: contact.body,
    formerIds: [person.duplicate.id],
    subscriptions: [
      {
        listId: person.list.id,
        status: 'CONFIRMED',
        consents: [
          {
            method: 'FORM',
            email,
            address,
            formId: person.form.id,
            wording: ['Yes, send me news.'],
            doubleOptIn: true,
            confirmedAt: aTimestamp,
            confirmedFrom: address,
          },
        ],
      },
    ],
    submissions: [{ formId: person.form.id, contactId: id, values: { email, news: true } }],
    deals: [{ id: person.deal.id, contactId: id }],
    tasks: [{ id: person.task.id, contactId: id }],
    notes: [{ id: person.note.id, contactId: id }],
    campaigns: [
      {
        campaignId: person.campaign.id,
        name: 'November',
        contactId: id,
        status: 'SENT',
        endedAt: aTimestamp,
        opensTracked: true,
        clicksTracked: false,
      },
    ],
    emails: [
      { kind: 'CONFIRMATION', to: email },
      { kind: 'CONFIRMATION', to: duplicateEmail },
    ],
  })
  expect(exported['activity']?.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['contact.created', 'form.submitted', 'subscription.confirmed', 'contact.merged']),
  )
})

test('GET /contacts/{id}/export: contains nothing of other people', async () => {
  const [ada, eve] = [await createPerson(), await createPerson()]
  const { text } = await exportPerson(ada.id)
  for (const foreign of [
    eve.id,
    eve.email,
    eve.address,
    eve.deal.id,
    eve.task.id,
    eve.note.id,
    eve.campaign.id,
    eve.duplicate.id,
  ])
    expect(text).not.toContain(foreign)
})

test('is recorded in the audit log', async () => {
  const { id } = await create('/contacts', { email: freshEmail() })
  await exportPerson(id)
  const { body } = await api.call('GET', '/audit-log?action=contact.exported&limit=1', { key: workspace.key })
  expect(body['data']).toMatchObject([{ subjectId: id, actor: { kind: 'apiKey', id: anId('key') } }])
})

test('is complete beyond a page', async () => {
  const { id } = await create('/contacts', { email: freshEmail() })
  await api.query(
    `insert into tasks (workspace_id, id, contact_id, title)
     select workspace_id, uuidv7(), id, 'Task ' || n from contacts, generate_series(1, 250) n
     where id = (select id from contacts order by created_at desc, id desc limit 1)`,
  )
  const { tasks } = parse((await exportPerson(id)).body)
  expect(new Set(tasks?.map(({ title }) => title)).size).toBe(250)
})
