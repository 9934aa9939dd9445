import { eventTypes } from '@rapport/core/events/event-definition.ts'
import type { DescribedEventType } from '@rapport/core/operations/webhooks/event-types.ts'
import type { Page } from '@rapport/core/request/paging.ts'
import type { Event } from '@rapport/core/webhooks/event-feed.schema.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
let key: string
beforeAll(async () => {
  ;({ key } = await api.signUp())
})

/**
 * Waits for the newest events: the feed shows them only after all earlier transactions have ended, and one of another
 * database that is just ending can hide them again.
 */
const listed = (count: number, query = '') =>
  waitUntil(
    async () => {
      const response = await get<{ data: Event[] }>(`/events${query}`)
      return response.body.data.length >= count && response
    },
    { describe: `the feed shows ${count} events` },
  )

const get = <Body>(path: string) => api.call<Body>('GET', path, { key })

test('GET /events, GET /events/{id}: an event has the body of its webhook delivery', async () => {
  const contact = await api.create('/contacts', key, { email: freshEmail() })
  const [event] = (await listed(1)).body.data
  expect(event).toEqual({ id: anId('evt'), type: 'contact.created', timestamp: aTimestamp, data: contact })
  expect((await get(`/events/${event?.id}`)).body).toEqual(event)
  expectError(await get('/events/evt_01kag7m3v9e8fs2t4w6x8y0z1b'), 404, 'Event not found')
})

test('`after` returns later events in order; an invalid parameter is named', async () => {
  const { body } = await get<{ data: Event[] }>('/events?sort=createdAt&limit=1')
  const known = body.data[0]?.id
  for (let n = 0; n < 3; n++) await api.create('/contacts', key, { email: freshEmail() })
  const backwards = await listed(4)
  const after = await listed(3, `?after=${known}&type=contact.created`)
  expect(after.body.data).toEqual(backwards.body.data.slice(0, -1).toReversed())
  for (const [query, path] of [
    ['after=evt_01kag7m3v9e8fs2t4w6x8y0z1b', 'after'],
    ['after=now', 'after'],
    [`after=${known}&sort=-createdAt`, 'sort'],
    ['type=contact.exploded', 'type'],
    ['eventType=contact.created', 'eventType'],
  ]) {
    expect(expectError(await get(`/events?${query}`), 400).issues?.[0]?.path).toBe(path)
  }
})

test('event types and the OpenAPI document describe the same types', async () => {
  const { body } = await get<Page<DescribedEventType>>('/event-types?limit=100')
  const document = await get<{
    webhooks: Record<string, object>
    components: { schemas: Record<string, { properties: { data: object } }> }
  }>('/openapi.json')
  const refsOf = (names: string[]) => names.map((name) => ({ $ref: `#/components/schemas/${name}` }))
  expect(Object.keys(document.body.webhooks)).toEqual(body.data.map(({ type }) => type))
  for (const { type, schema, example } of body.data) {
    expect([...eventTypes, 'webhook.test']).toContain(type)
    expect(document.body.components.schemas).toHaveProperty(String(schema['title']))
    expect(document.body.webhooks[type]).toMatchObject({
      post: {
        requestBody: {
          content: {
            'application/json': {
              example,
              schema: { properties: { data: { anyOf: refsOf([String(schema['title']), 'RedactedRecord']) } } },
            },
          },
        },
      },
    })
  }
  const records = [...new Set(body.data.map(({ schema }) => String(schema['title']))), 'RedactedRecord']
  for (const name of ['Event', 'Activity']) {
    expect(document.body.components.schemas[name]?.properties.data).toMatchObject({ anyOf: refsOf(records) })
  }
})

test('event types are read page by page', async () => {
  const { data } = (await get<Page<DescribedEventType>>('/event-types')).body
  const types: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: { body: Page<DescribedEventType> } = await get(
      `/event-types?limit=10${cursor && `&cursor=${cursor}`}`,
    )
    types.push(...body.data.map(({ type }) => type))
    cursor = body.nextCursor
  }
  expect(types).toEqual(data.map(({ type }) => type))
  expect(types).toEqual([...new Set(types)])
  const { nextCursor } = (await get<Page<Event>>('/events?limit=1')).body
  for (const [query, path] of [
    [`cursor=${nextCursor}`, 'cursor'],
    ['cursor=x', 'cursor'],
    ['limit=0', 'limit'],
    ['sort=type', 'sort'],
  ]) {
    expect(expectError(await get(`/event-types?${query}`), 400).issues?.[0]?.path).toBe(path)
  }
})
