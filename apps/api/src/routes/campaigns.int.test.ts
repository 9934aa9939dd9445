import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Campaign, CampaignInput } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import {
  aTimestamp,
  anId,
  type Call,
  countStatuses,
  expectError,
  freshEmail,
  startTestApi,
} from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let list: List
beforeAll(async () => {
  list = await newList()
})

const newList = () => api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
const create = (given: Record<string, unknown> = {}) => api.create<Campaign>('/campaigns', workspace.key, input(given))
const input = (given: Record<string, unknown> = {}) => ({
  name: 'November',
  subject: 'News for {{ contact.firstName }}',
  listId: list.id,
  ...given,
})
const read = async (id: string) => (await api.call<Campaign>('GET', `/campaigns/${id}`, { key: workspace.key })).body
const change = (id: string, body: unknown) => api.call('PATCH', `/campaigns/${id}`, { key: workspace.key, body })
const send = (id: string, call: Call = {}) =>
  api.call<{ queued: number }>('POST', `/campaigns/${id}/send`, { key: workspace.key, ...call })
const sendTest = (id: string, body: unknown) =>
  api.call('POST', `/campaigns/${id}/send-test`, { key: workspace.key, body })

async function subscribeSome(count: number, listId: string, status = 'CONFIRMED') {
  const people = Array.from({ length: count }, () => freshEmail())
  for (const email of people) {
    await api.create(`/lists/${listId}/subscribers`, workspace.key, { email, status })
  }
  return people
}

test('POST /campaigns, GET /campaigns/{id}: a draft of name, subject and list', async () => {
  const response = await api.call<Campaign>('POST', '/campaigns', { key: workspace.key, body: input() })
  expect(response).toMatchObject({ status: 201, headers: { location: `/campaigns/${response.body.id}` } })
  expect(response.body).toEqual({
    id: anId('cmp'),
    name: 'November',
    subject: 'News for {{ contact.firstName }}',
    listId: list.id,
    segmentId: null,
    status: 'DRAFT',
    html: expect.stringContaining('{{ campaign.subject }}'),
    text: null,
    fromName: null,
    fromEmail: null,
    replyTo: null,
    trackOpens: false,
    trackClicks: false,
    webVersion: true,
    queued: 0,
    pauseReason: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
    sentAt: null,
    completedAt: null,
  })
  expect(await read(response.body.id)).toEqual(response.body)
})

const full: Partial<CampaignInput> = {
  html: '<p>\n\tHello  </p>\n',
  text: '  Hello\r\n',
  fromName: 'Ada',
  fromEmail: 'ada@example.com',
  replyTo: 'reply@example.com',
  trackOpens: true,
  trackClicks: true,
  webVersion: false,
}

test('stores content unchanged; a campaign with only text has no HTML', async () => {
  expect(await create(full)).toMatchObject(full)
  expect(await create({ text: 'Hello' })).toMatchObject({ html: null, text: 'Hello' })
})

test('PATCH /campaigns/{id}: returns 204, sets the given fields and `updatedAt`', async () => {
  const before = await create()
  const other = await newList()
  for (const part of [...Object.entries(full), ['listId', other.id], ['name', 'December'], ['subject', 'Snow']]) {
    const response = await change(before.id, Object.fromEntries([part]))
    expect([part[0], response.status, response.text]).toEqual([part[0], 204, ''])
  }
  const after = await read(before.id)
  expect(after).toEqual({
    ...before,
    ...full,
    listId: other.id,
    name: 'December',
    subject: 'Snow',
    updatedAt: aTimestamp,
  })
  expect(after.updatedAt > before.updatedAt).toBe(true)
  expect(await change(before.id, { fromName: null, replyTo: null })).toMatchObject({ status: 204 })
  expect(await read(before.id)).toMatchObject({ fromName: null, replyTo: null, fromEmail: 'ada@example.com' })
  const same = await read(before.id)
  for (const body of [{}, { name: same.name, replyTo: null }])
    expect(await change(before.id, body)).toMatchObject({ status: 204 })
  expect(await read(before.id)).toEqual(same)
})

const badValues: [string, unknown][] = [
  ['name', ''],
  ['name', null],
  ['name', 'x'.repeat(201)],
  ['subject', ''],
  ['subject', '   '],
  ['subject', null],
  ['subject', 'x'.repeat(301)],
  ['subject', 'x'.repeat(10_000)],
  ['subject', 'Hello\r\nBcc: eve@example.com'],
  ['subject', 'a\u0000b'],
  ['subject', 'Hello {{ contact.firstName'],
  ['listId', 'nope'],
  ['listId', ''],
  ['listId', 5],
  ['listId', null],
  ['listId', 'x'.repeat(500)],
  ['listId', 'lst_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['html', 'a\u0001b'],
  ['html', 5],
  ['html', 'x'.repeat(1_048_577)],
  ['html', '{% if x %}'.repeat(50_000)],
  ['html', '{% nonsense %}'],
  ['text', 'a\u001bb'],
  ['text', ['a']],
  ['text', '{{ a | nonsense: }} {{'],
  ['fromName', 'Ada\r\nBcc: eve@example.com'],
  ['fromName', 'x'.repeat(201)],
  ['fromEmail', 'Ada <ada@example.com>'],
  ['fromEmail', ''],
  ['replyTo', 'ada@example.com, eve@example.com'],
  ['trackOpens', 'yes'],
  ['trackClicks', 1],
  ['webVersion', 'no'],
  ['status', 'SENT'],
  ['queued', 1_000],
  ['sentAt', null],
  ['id', 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b'],
]
test('creating or updating with an invalid value returns 400 and changes nothing', async () => {
  const draft = await create()
  for (const [field, value] of badValues) {
    const creation = await api.call('POST', '/campaigns', { key: workspace.key, body: input({ [field]: value }) })
    for (const response of [creation, await change(draft.id, { [field]: value })]) {
      const { issues } = expectError(response, 400)
      expect([field, issues?.map(({ path }) => path)]).toEqual([field, [field]])
    }
  }
  expectError(await change(draft.id, { trackClicks: null }), 400)
  expect(await read(draft.id)).toEqual(draft)
})

test('sending to a list without confirmed subscribers returns the specified 400', async () => {
  const empty = await api.create<List>('/lists', workspace.key, { name: 'Empty' })
  await subscribeSome(2, empty.id, 'PENDING')
  const draft = await create({ listId: empty.id })
  const response = await send(draft.id)
  expect(response.status).toBe(400)
  expect(response.text).toBe('{"statusCode":400,"message":"List has no subscribed recipients","error":"Bad Request"}')
  expect(await read(draft.id)).toEqual(draft)
  await api.query(`update subscriptions set status = 'CONFIRMED', own_status = 'CONFIRMED'`)
  expect(await send(draft.id)).toMatchObject({ status: 202, body: { queued: 2 } })
})

test('POST /campaigns/{id}/send: exactly the confirmed subscribers, and one event', async () => {
  const audience = await newList()
  await subscribeSome(7, audience.id)
  const subscribers = await api.query('select contact_id from subscriptions where list_id = $1', [
    uuidOf(Id('lst').parse(audience.id)),
  ])
  for (const [n, status] of ['PENDING', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'].entries())
    await api.query(
      `update subscriptions set status = $1, own_status = case $1 when 'PENDING' then 'PENDING' else 'CONFIRMED' end\n       where contact_id = $2`,
      [status, subscribers[n]?.['contact_id']],
    )
  const draft = await create({ listId: audience.id })
  const response = await send(draft.id)
  expect(response).toMatchObject({ status: 202, text: '{"queued":3,"unseen":0}' })
  const sending = await read(draft.id)
  expect(sending).toEqual({ ...draft, status: 'SENDING', queued: 3, sentAt: aTimestamp, updatedAt: aTimestamp })
  await subscribeSome(1, audience.id)
  expect(await read(draft.id)).toEqual(sending)
  const events = await api.query(`select data from events where type = 'campaign.sending' and data ->> 'id' = $1`, [
    draft.id,
  ])
  const { html: _, text: __, ...summary } = sending
  expect(events).toEqual([{ data: summary }])
})

test('of 50 concurrent sends one succeeds, and queues each recipient once', async () => {
  const audience = await newList()
  await subscribeSome(5, audience.id)
  const draft = await create({ listId: audience.id })
  const responses = await Promise.all(Array.from({ length: 50 }, () => send(draft.id)))
  expect(countStatuses(responses)).toEqual({ 202: 1, 409: 49 })
  const batches = await api.query('select sum(cardinality(contact_ids))::int as people from campaign_batches')
  const campaigns = await api.query('select sum(queued)::int as people from campaigns')
  expect(batches).toEqual(campaigns)
})

test('only a draft can be updated or sent; test emails work in any status', async () => {
  const audience = await newList()
  await subscribeSome(1, audience.id)
  const draft = await create({ listId: audience.id })
  await send(draft.id, { body: {} })
  for (const status of ['SENDING', 'PAUSED', 'SENT', 'CANCELED']) {
    await api.query(`update campaigns set status = $1 where created_at = (select max(created_at) from campaigns)`, [
      status,
    ])
    const before = await read(draft.id)
    expectError(await send(draft.id), 409, `Only a DRAFT can be sent: this campaign is ${status}`)
    for (const body of [{ subject: 'Too late' }, {}]) {
      expectError(await change(draft.id, body), 409, `Only a DRAFT can be changed: this campaign is ${status}`)
    }
    expect(await read(draft.id)).toEqual(before)
    expect(await sendTest(draft.id, { email: 'me@example.com' })).toMatchObject({ status: 202, text: '{"queued":1}' })
  }
})

test('POST /campaigns/{id}/send-test: to the address, with the values of the contact', async () => {
  const draft = await create()
  const contact = await api.create('/contacts', workspace.key, { email: freshEmail() })
  const response = await sendTest(draft.id, { email: 'me@example.org', contactId: contact['id'] })
  expect(response).toMatchObject({ status: 202, body: { queued: 1 } })
  const mails = await api.query(`select kind, data from mails where to_address = 'me@example.org'`)
  const data = { campaignId: draft.id, listId: draft.listId, contactId: contact['id'] }
  expect(mails).toEqual([{ kind: 'CAMPAIGN_TEST', data }])
  expect(await read(draft.id)).toEqual(draft)
})

const badTests: [string, unknown][] = [
  ['email', undefined],
  ['email', 'me'],
  ['email', 'a@example.com,'.repeat(1_000)],
  ['email', ['me@example.com']],
  ['email', 'me@example.com\r\nBcc: eve@example.com'],
  ['contactId', 'nope'],
  ['contactId', 'con_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['contactId', ''],
  ['email', null],
  ['to', 'me@example.com'],
]
test('a test email with an invalid address or contact returns 400 and sends nothing', async () => {
  const draft = await create()
  const before = await api.query('select count(*) from mails')
  for (const [field, value] of badTests) {
    const { issues } = expectError(await sendTest(draft.id, { email: 'me@example.com', [field]: value }), 400)
    expect([field, issues?.map(({ path }) => path)]).toEqual([field, [field]])
  }
  expect(await api.query('select count(*) from mails')).toEqual(before)
})
