/** Webhooks and events: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

interface Webhook extends Json {
  id: string
  secret: string
}
interface EventType {
  type: string
  schema: Json
  example: Json
}

const api = useForFile(() => startTestApi({ environment: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } }))
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const listOf = async <Item = Json>(path: string) => (await call('GET', path)).body['data'] as Item[]
const createContact = () => api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail() })

let webhook: Webhook
let path: string
beforeEach(async () => {
  const input = { url: 'http://127.0.0.1:8998/hook', eventTypes: ['contact.created'] }
  webhook = await api.create<Webhook>('/webhooks', workspace.key, input)
  path = `/webhooks/${webhook.id}`
})

test('GET and POST /webhooks, GET, PATCH and DELETE /webhooks/{id}', async () => {
  const { secret, ...shown } = webhook
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(shown).toMatchObject({
    id: anId('whk'),
    url: 'http://127.0.0.1:8998/hook',
    eventTypes: ['contact.created'],
    enabled: true,
    createdAt: aTimestamp,
    lastSuccessAt: null,
    lastFailureAt: null,
    failingSince: null,
    disabledReason: null,
  })
  expect((await call('GET', path)).body).toEqual(shown)
  expect(await listOf('/webhooks')).toContainEqual(shown)
  expect((await call('PATCH', path, { enabled: false })).body).toMatchObject({ enabled: false })
  const unknown = await call('POST', '/webhooks', { url: 'http://127.0.0.1:8998/', eventTypes: ['contact.craeted'] })
  expect(expectError(unknown, 400).issues?.[0]?.path).toBe('eventTypes.0')
  const forbidden = await call('POST', '/webhooks', { url: 'http://169.254.169.254/', eventTypes: ['*'] })
  expect(expectError(forbidden, 400).issues?.[0]?.path).toBe('url')
  expect((await call('DELETE', path)).status).toBe(204)
  expectError(await call('GET', path), 404)
})

test('POST /webhooks/{id}/rotate-secret: a new secret', async () => {
  const rotated = await call('POST', `${path}/rotate-secret`)
  expect(rotated).toMatchObject({ status: 200, body: { secret: expect.stringMatching(/^whsec_/) } })
  expect(rotated.body['secret']).not.toBe(webhook.secret)
})

test('POST /webhooks/{id}/test: sends webhook.test, 202 with the delivery', async () => {
  const sent = await call('POST', `${path}/test`)
  expect(sent).toMatchObject({ status: 202 })
  expect(sent.body).toEqual({
    id: anId('dlv'),
    webhookId: webhook.id,
    eventId: anId('evt'),
    eventType: 'webhook.test',
    status: 'PENDING',
    attemptedAt: null,
    durationMs: null,
    responseStatus: null,
    responseBody: null,
    error: null,
    createdAt: aTimestamp,
  })
})

test('GET /webhooks/{id}/deliveries: with filters', async () => {
  await createContact()
  const [delivery] = await listOf(`${path}/deliveries`)
  const one = `${path}/deliveries/${String(delivery?.['id'])}`
  for (const query of ['status=PENDING', 'type=contact.created', 'createdAfter=2026-01-01']) {
    expect([query, await listOf(`${path}/deliveries?${query}`)]).toEqual([query, [delivery]])
  }
  for (const query of ['status=FAILED', 'type=contact.updated', 'createdBefore=2026-01-01']) {
    expect([query, await listOf(`${path}/deliveries?${query}`)]).toEqual([query, []])
  }
  const pending = await call('POST', `${one}/redeliver`)
  expect(expectError(pending, 409).code).toBe('wrong_state')
})

const fail = (delivery: Json | undefined) =>
  api.query(
    `update deliveries set status = 'FAILED', attempted_at = now(), error = 'timeout' where event_id =
    (select id from events order by id desc limit 1) and $1::text is not null`,
    [delivery?.['id']],
  )

test('GET /webhooks/{id}/deliveries/{deliveryId}', async () => {
  await createContact()
  const [delivery] = await listOf(`${path}/deliveries`)
  expect((await call('GET', `${path}/deliveries/${String(delivery?.['id'])}`)).body).toEqual(delivery)
})

test('POST /webhooks/{id}/deliveries/{deliveryId}/redeliver: of the same event', async () => {
  await createContact()
  const [delivery] = await listOf(`${path}/deliveries`)
  await fail(delivery)
  const again = await call('POST', `${path}/deliveries/${String(delivery?.['id'])}/redeliver`)
  expect(again).toMatchObject({ status: 202, body: { eventId: delivery?.['eventId'], status: 'PENDING' } })
  expect(again.body['id']).not.toBe(delivery?.['id'])
})

test('POST /webhooks/{id}/redeliver: by default what failed in the last 24 hours', async () => {
  await createContact()
  await fail((await listOf(`${path}/deliveries`))[0])
  expect((await call('POST', `${path}/redeliver`, { dryRun: true })).body).toMatchObject({ queued: 1 })
  expect((await call('POST', `${path}/redeliver`, { type: 'contact.deleted' })).body).toMatchObject({ queued: 0 })
  expect((await call('POST', `${path}/redeliver`, { createdBefore: '2026-01-01' })).body).toMatchObject({ queued: 0 })
  expect(await call('POST', `${path}/redeliver`)).toMatchObject({ status: 202, body: { queued: 1 } })
})

test('GET /events and GET /events/{id}: filters, and after= reads on in order', async () => {
  const first = await createContact()
  const second = await createContact()
  const [event] = await listOf(`/events?contactId=${first.id}`)
  expect(event).toMatchObject({
    id: anId('evt'),
    type: 'contact.created',
    timestamp: aTimestamp,
    data: { id: first.id },
  })
  expect((await call('GET', `/events/${String(event?.['id'])}`)).body).toEqual(event)
  const next = await listOf(`/events?after=${String(event?.['id'])}`)
  expect(next).toMatchObject([{ data: { id: second.id } }])
  expect(await listOf('/events?type=deal.created&type=deal.won')).toEqual([])
  expect(await listOf('/events?createdBefore=2026-01-01')).toEqual([])
})

test('GET /event-types: a page with the schema of each type and a true example', async () => {
  const page = await call('GET', '/event-types?limit=100')
  expect(page.body['nextCursor']).toBeNull()
  const types = await listOf<EventType>('/event-types?limit=100')
  expect(types.map(({ type }) => type).toSorted()).toEqual(
    [
      'contact.created contact.updated contact.deleted contact.merged form.submitted',
      'subscription.created subscription.confirmed subscription.unsubscribed',
      'deal.created deal.updated deal.stage_changed deal.won deal.lost deal.deleted',
      'task.created task.updated task.completed task.deleted list.deleted webhook.disabled webhook.test',
      'campaign.sending campaign.sent campaign.canceled import.completed mail.bounced mail.complained',
    ]
      .flatMap((line) => line.split(' '))
      .toSorted(),
  )
  const exampleOf = (type: string) => JSON.stringify(types.find((one) => one.type === type)?.example)
  expect(exampleOf('deal.won')).toContain('"status":"WON"')
  expect(exampleOf('task.completed')).toContain('"status":"DONE"')
  expect(JSON.stringify(types[0]?.schema)).toContain('redacted')
})

test('POST /mail-events: reports of bounces and complaints', async () => {
  const contact = await api.create<Json & { id: string; email: string }>('/contacts', workspace.key, {
    email: freshEmail(),
  })
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'Newsletter' })
  await api.create(`/lists/${list.id}/subscribers`, workspace.key, { contactId: contact.id, status: 'CONFIRMED' })
  const report = { type: 'BOUNCE', email: contact.email, permanent: true, detail: '550 unknown user' }
  expect([200, 202, 204]).toContain((await call('POST', '/mail-events', report)).status)
  expect((await call('GET', `/contacts/${contact.id}`)).body).toMatchObject({ emailSubscribedStatus: 'BOUNCED' })
  expect(await listOf('/events?type=mail.bounced')).toHaveLength(1)
})
