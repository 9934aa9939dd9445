import { drainId } from '@rapport/core/work/queues.ts'
import { uuidAt } from '@rapport/core/kernel/ids.ts'
import type { DescribedEventType } from '@rapport/core/operations/webhooks/event-types.ts'
import type { Delivery } from '@rapport/core/webhooks/deliveries.schema.ts'
import type { CreatedWebhook } from '@rapport/core/webhooks/webhooks.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
let key: string
let webhook: CreatedWebhook
beforeEach(async () => {
  ;({ key } = await api.signUp())
  webhook = await createWebhook()
})

const createWebhook = (eventTypes = ['contact.created']) =>
  api.create<CreatedWebhook>('/webhooks', key, { url: 'https://example.com/hook', eventTypes })
const createContacts = async (count: number) => {
  for (let n = 0; n < count; n++) await api.create('/contacts', key, { email: freshEmail() })
}
const post = <Body>(path: string, body?: unknown) =>
  api.call<Body>('POST', `/webhooks/${webhook.id}${path}`, { key, body })
const list = async (query = '', of = webhook.id) => {
  const { status, body } = await api.call<{ data: Delivery[] }>('GET', `/webhooks/${of}/deliveries?${query}`, { key })
  expect(status).toBe(200)
  return body.data
}
/** Records an outcome as the worker does. */
const recordOutcome = (status: string, where = 'true') =>
  api.query(
    `update deliveries set status = $1, attempted_at = now() where webhook_id =
       (select id from webhooks where workspace_id = (select workspace_id from api_keys where prefix = $2) limit 1)
       and status = 'PENDING' and ${where}`,
    [status, key.slice(0, 10)],
  )
const countPending = async () =>
  (
    await api.query(
      "select d.id from deliveries d join api_keys k using (workspace_id) where k.prefix = $1 and d.status = 'PENDING'",
      [key.slice(0, 10)],
    )
  ).length

describe('a webhook', () => {
  test('PATCH /webhooks/{id}: updated only in the fields of the request', async () => {
    const { secret: _secret, ...before } = webhook
    const change = (body: unknown) => api.call('PATCH', `/webhooks/${webhook.id}`, { key, body })
    expect(await change({})).toMatchObject({ status: 200, body: before })
    const changes = { url: 'https://example.com/other', eventTypes: ['*'], enabled: false }
    let expected: object = before
    for (const [field, value] of Object.entries(changes)) {
      expected = { ...expected, [field]: value }
      expect((await change({ [field]: value })).body).toEqual(expected)
    }
    expect((await change({ enabled: true })).body).toEqual({ ...expected, enabled: true })
    for (const wrong of [{ url: 'http://127.0.0.1' }, { eventTypes: [] }, { enabled: 'no' }, { secret: 'mine' }]) {
      expect(expectError(await change(wrong), 400).issues?.[0]?.path).toBe(Object.keys(wrong)[0])
    }
  })

  test('DELETE /webhooks/{id}: deleted with its deliveries', async () => {
    await createContacts(1)
    const [delivery] = await list()
    const path = `/webhooks/${webhook.id}`
    expect(await api.call('DELETE', path, { key })).toMatchObject({ status: 204, text: '' })
    const paths = [path, `${path}/deliveries`, `${path}/deliveries/${delivery?.id}`]
    for (const gone of paths) expectError(await api.call('GET', gone, { key }), 404, 'Webhook not found')
    for (const verb of ['/test', '/rotate-secret', `/deliveries/${delivery?.id}/redeliver`]) {
      expectError(await post(verb), 404, 'Webhook not found')
    }
    expectError(await api.call('DELETE', path, { key }), 404)
    expectError(await api.call('PATCH', path, { key, body: { enabled: true } }), 404)
    expect((await api.call<{ data: unknown[] }>('GET', '/webhooks', { key })).body.data).toEqual([])
    const events = (await api.query('select from deliveries')).length
    await createContacts(1)
    expect((await api.query('select from deliveries')).length).toBe(events)
  })

  test('is limited to 50 per workspace, even with concurrent requests', async () => {
    const responses = await Promise.all(
      Array.from({ length: 60 }, () =>
        api.call('POST', '/webhooks', { key, body: { url: 'https://example.com', eventTypes: ['*'] } }),
      ),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(49)
    for (const response of responses.filter(({ status }) => status !== 201)) {
      expectError(response, 409, 'The quota of this workspace is used up: at most 50 webhooks')
    }
    await api.call('DELETE', `/webhooks/${webhook.id}`, { key })
    await createWebhook()
  })

  test('POST /webhooks/{id}/rotate-secret: a new secret, at most 5 times in 24 hours', async () => {
    const secrets = [webhook.secret]
    for (let n = 0; n < 5; n++) {
      const rotated = await post<CreatedWebhook>('/rotate-secret')
      expect(rotated).toMatchObject({ status: 200, body: { ...webhook, secret: expect.stringMatching(/^whsec_/) } })
      secrets.push(rotated.body.secret)
    }
    expect(new Set(secrets).size).toBe(6)
    const refused = await post('/rotate-secret')
    expectError(refused, 409, 'A secret can be rotated at most 5 times in 24 hours')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000)
    const read = await api.call('GET', `/webhooks/${webhook.id}`, { key })
    expect(read.text).not.toContain('whsec_')
    const stored = JSON.stringify(await api.query('select * from webhooks'))
    for (const secret of secrets) expect(stored).not.toContain(secret.slice(6, 30))
  })
})

describe('a test event', () => {
  test('POST /webhooks/{id}/test: sent to that webhook only, whatever its event types', async () => {
    const other = await createWebhook(['*'])
    const { status, body } = await post<Delivery>('/test')
    expect(status).toBe(202)
    expect(body).toEqual({
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
    expect(await list()).toEqual([body])
    expect(await list('', other.id)).toEqual([])
    const { secret: _secret, ...shown } = webhook
    expect((await api.call('GET', `/events/${body.eventId}`, { key })).body).toMatchObject({ data: shown })
  })

  test('may be the example of any type, which is in the feed', async () => {
    const { body: types } = await api.call<{ data: DescribedEventType[] }>('GET', '/event-types?limit=100', { key })
    for (const { type, example } of types.data.filter(({ type }) => type !== 'webhook.test')) {
      const { status, body } = await post<Delivery>('/test', { type })
      expect([status, body.eventType]).toEqual([202, type])
      const event = await api.call('GET', `/events/${body.eventId}`, { key })
      expect(event.body).toMatchObject({ type, data: example.data })
    }
    const unknown = await post('/test', { type: 'deal.wonn' })
    expectError(unknown, 400, 'type: must be an event type of GET /event-types (did you mean "deal.won"?)')
  })

  test('is not sent to a disabled webhook', async () => {
    await api.call('PATCH', `/webhooks/${webhook.id}`, { key, body: { enabled: false } })
    expectError(await post('/test'), 409, 'The webhook is disabled')
    expect(await countPending()).toBe(0)
  })
})

describe('the delivery log', () => {
  test('GET /webhooks/{id}/deliveries: newest first, filtered by status and type', async () => {
    await createContacts(4)
    await post('/test')
    await recordOutcome('FAILED', `event_type = 'contact.created'`)
    await createContacts(3)
    const all = await list()
    expect(all).toHaveLength(8)
    const pages: Delivery[] = []
    for (let cursor = ''; ; ) {
      const { body } = await api.call<{ data: Delivery[]; nextCursor: string | null }>(
        'GET',
        `/webhooks/${webhook.id}/deliveries?limit=3${cursor}`,
        { key },
      )
      pages.push(...body.data)
      if (!body.nextCursor) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(pages).toEqual(all)
    expect(all.map(({ createdAt }) => createdAt)).toEqual(
      all
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .toReversed(),
    )
    expect(await list('status=FAILED')).toEqual(all.filter(({ status }) => status === 'FAILED'))
    expect(await list('status=PENDING')).toHaveLength(4)
    expect(await list('type=webhook.test')).toMatchObject([{ eventType: 'webhook.test' }])
    expect(await list('status=FAILED&type=webhook.test')).toEqual([])
    for (const wrong of ['status=SENDING', 'type=contact.exploded', 'cursor=x', 'eventType=contact.created']) {
      expectError(await api.call('GET', `/webhooks/${webhook.id}/deliveries?${wrong}`, { key }), 400)
    }
  })

  test('GET /webhooks/{id}/deliveries/{deliveryId}: PENDING while in progress', async () => {
    await createContacts(1)
    await api.query(
      `insert into work (workspace_id, id, kind, worker_id, token, claimed_at, in_flight)
       select workspace_id, '${drainId}', 'DRAIN', gen_random_uuid(), gen_random_uuid(), now(), array[id] from deliveries
       where webhook_id = (select max(webhook_id::text)::uuid from deliveries)`,
    )
    const [delivery] = await list('status=PENDING')
    expect((await api.call('GET', `/webhooks/${webhook.id}/deliveries/${delivery?.id}`, { key })).body).toEqual(
      delivery,
    )
    expect(delivery?.status).toBe('PENDING')
  })
})

describe('a redelivery', () => {
  const many = (more: object = {}) => post<{ queued: number }>('/redeliver', { status: 'FAILED', ...more })

  test('POST /webhooks/{id}/deliveries/{deliveryId}/redeliver: a new one of the event', async () => {
    await createContacts(1)
    const [first] = await list()
    expectError(await post(`/deliveries/${first?.id}/redeliver`), 409, 'The delivery is still PENDING')
    await recordOutcome('SUCCEEDED')
    const { status, body } = await post<Delivery>(`/deliveries/${first?.id}/redeliver`)
    expect([status, body]).toMatchObject([202, { status: 'PENDING', eventId: first?.eventId }])
    expect(body.id).not.toBe(first?.id)
    expect([(await list()).length, await countPending()]).toEqual([2, 1])
    await api.call('PATCH', `/webhooks/${webhook.id}`, { key, body: { enabled: false } })
    expectError(await post(`/deliveries/${first?.id}/redeliver`), 409, 'The webhook is disabled')
  })

  test('of many events queues each once; with dryRun it only counts', async () => {
    await createContacts(5)
    await recordOutcome('FAILED')
    await createContacts(1)
    expect(await many({ dryRun: true })).toMatchObject({ status: 202, body: { queued: 5 } })
    expect(await countPending()).toBe(1)
    const both = await Promise.all([many(), many()])
    expect(both.map(({ body }) => body.queued).toSorted((a, b) => a - b)).toEqual([0, 5])
    expect(await countPending()).toBe(6)
    await recordOutcome('FAILED')
    expect((await many()).body).toEqual({ queued: 6 })
    await recordOutcome('SUCCEEDED')
    expect((await many()).body).toEqual({ queued: 0 })
  })

  test('POST /webhooks/{id}/redeliver: by default FAILED and INTERRUPTED of 24 hours', async () => {
    await createContacts(2)
    await recordOutcome('FAILED')
    const old = await api.query("select id from deliveries where status = 'FAILED'")
    const dayAgo = Date.now() - 25 * 3_600_000
    for (const [n, row] of old.entries())
      await api.query('update deliveries set id = $1 where id = $2', [uuidAt(dayAgo - n), row['id']])
    for (const status of ['FAILED', 'INTERRUPTED', 'SUCCEEDED']) {
      await createContacts(1)
      await recordOutcome(status)
    }
    const count = async (body: object) => (await post('/redeliver', { ...body, dryRun: true })).body
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
    expect(await count({})).toEqual({ queued: 2 })
    expect(await count({ status: 'INTERRUPTED' })).toEqual({ queued: 1 })
    expect(await count({ createdAfter: hoursAgo(48) })).toEqual({ queued: 4 })
    expect(await count({ createdAfter: hoursAgo(48).slice(0, 10) })).toEqual({ queued: 4 })
    expect(await count({ createdBefore: hoursAgo(24) })).toEqual({ queued: 2 })
    expect(await count({ createdAfter: hoursAgo(1), createdBefore: hoursAgo(24) })).toEqual({ queued: 0 })
    expect(await post('/redeliver')).toMatchObject({ status: 202, body: { queued: 2 } })
    expect((await post('/redeliver')).body).toEqual({ queued: 0 })
    expect(await countPending()).toBe(2)
  })

  test('of many events is limited to the given time, status and type', async () => {
    await createContacts(2)
    await post('/test')
    await recordOutcome('INTERRUPTED')
    expect((await many({ dryRun: true })).body).toEqual({ queued: 0 })
    expect((await many({ status: 'INTERRUPTED', dryRun: true })).body).toEqual({ queued: 3 })
    expect((await many({ status: 'INTERRUPTED', createdBefore: '2026-01-02' })).body).toEqual({ queued: 0 })
    expect((await many({ status: 'INTERRUPTED', type: 'webhook.test' })).body).toEqual({ queued: 1 })
    for (const wrong of [
      { status: 'PENDING' },
      { since: '2026-01-01' },
      { createdAfter: 'yesterday' },
      { createdBefore: 5 },
      { type: '*' },
      { dryRun: 1 },
    ]) {
      expect(expectError(await many(wrong), 400).issues?.[0]?.path).toBe(Object.keys(wrong)[0])
    }
  })
})
