import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { eventTypes } from '../events/event-definition.ts'
import { describeEventTypes, eventDefinitions } from '../operations/webhooks/event-types.ts'
import { purgeEvents } from '../events/purge-events.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { createTestDatabase, openTransaction } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { events } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { EventQuery, eventNotFound } from './deliveries.schema.ts'
import { listEvents } from './event-feed.ts'
import { adoptRestoredEvents } from '../db/adopt-restored-events.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const createNamed = (firstName: string, on: Ctx = ctx) => createTestContact(on, { firstName })
const list = async (query: Record<string, string> = {}) => listEvents(ctx, EventQuery.parse(query))
/**
 * Waits until the feed shows `count` events. A transaction of another test's database that is just ending cannot be
 * distinguished from one of this database, and briefly delays the newest events.
 */
const waitForEvents = (count: number, query: Record<string, string> = {}) =>
  waitUntil(
    async () => {
      const page = await list(query)
      return page.data.length >= count && page
    },
    { describe: `the feed shows ${count} events` },
  )
const getNames = ({ data }: { data: { data: unknown }[] }) =>
  data.map((event) => (event.data as { firstName: string }).firstName)

test('resuming after an event includes events of slow transactions that commit later', async () => {
  await createNamed('known')
  const [known] = (await waitForEvents(1)).data
  const slow = await openTransaction(database.db, (db) => createNamed('slow', { ...ctx, db }))
  await createNamed('quick')
  // If the feed showed `quick` now, a client that resumes after it would miss `slow`.
  expect(getNames(await list({ after: known?.id ?? '' }))).toEqual([])
  await slow.commit()
  expect(getNames(await waitForEvents(2, { after: known?.id ?? '' }))).toEqual(['slow', 'quick'])
})

test('a long transaction in another database of the server does not delay the feed', async () => {
  const elsewhere = await createTestDatabase()
  const there = await createTestCtx(elsewhere.db)
  const slow = await openTransaction(elsewhere.db, (db) => createNamed('slow', { ...there, db }))
  await createNamed('quick')
  expect(getNames(await waitForEvents(1))).toEqual(['quick'])
  await slow.commit()
  await elsewhere.close()
})

test('a client reads each committed event once while 50 transactions write', async () => {
  const acknowledged: string[] = []
  const write = async (n: number) => {
    const changed = transaction(database.db, async (db) => {
      const { id } = await createNamed(`n${n}`, { ...ctx, db })
      await db.execute(sql`select pg_sleep(${(n % 7) / 100})`)
      if (n % 5 === 0) throw new Error('changed my mind')
      return id
    })
    const id = await changed.catch(() => undefined)
    if (id !== undefined) acknowledged.push(id)
  }
  await createNamed('first')
  const seen: string[] = []
  let after = (await waitForEvents(1)).data[0]?.id ?? ''
  const readNextPage = async () => {
    const { data } = await list({ after, limit: '3' })
    seen.push(...data.map((event) => (event.data as { id: string }).id))
    after = data.at(-1)?.id ?? after
    return data.length
  }
  const writing = Promise.all(Array.from({ length: 50 }, (_, n) => write(n)))
  // Reads until all 40 events are there, and then until the feed ends.
  while (seen.length < 40 || (await readNextPage()) > 0) await readNextPage()
  await writing
  expect(acknowledged).toHaveLength(40)
  expect(seen.toSorted()).toEqual(acknowledged.toSorted())
})

test('after returns the oldest events first, page by page, also for one type', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await createNamed(name)
  await waitForEvents(4)
  const oldest = (await waitForEvents(1, { sort: 'createdAt', limit: '1' })).data[0]?.id ?? ''
  const first = await waitUntil(
    async () => {
      const page = await list({ after: oldest, limit: '2' })
      return page.nextCursor !== null && page
    },
    { describe: 'a page with a next page' },
  )
  expect(getNames(first)).toEqual(['b', 'c'])
  const second = await waitForEvents(1, { after: oldest, limit: '2', cursor: first.nextCursor ?? '' })
  expect([getNames(second), second.nextCursor]).toEqual([['d'], null])
  expect(getNames(await waitForEvents(4))).toEqual(['d', 'c', 'b', 'a'])
  expect(getNames(await waitForEvents(3, { type: 'contact.created', after: oldest }))).toEqual(['b', 'c', 'd'])
  expect(getNames(await list({ type: 'contact.deleted' }))).toEqual([])
})

test('a page without a filter equals one whose filter all events match', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) await createNamed(name)
  await createNamed('theirs', await createTestCtx(database.db))
  const [newest] = (await waitForEvents(5)).data
  const oldest = (await list({ sort: 'createdAt', limit: '1' })).data[0]
  const readAll = async (query: Record<string, string>): Promise<unknown[]> => {
    const { data, nextCursor } = await list({ limit: '2', ...query })
    return nextCursor === null ? data : [...data, ...(await readAll({ ...query, cursor: nextCursor }))]
  }
  for (const query of [{}, { sort: 'createdAt' }, { after: oldest?.id ?? '' }, { after: newest?.id ?? '' }])
    expect(await readAll(query)).toEqual(await readAll({ ...query, type: 'contact.created' }))
  expect(await readAll({ after: oldest?.id ?? '' })).toHaveLength(4)
})

test('after with an unknown event, or with descending order, is invalid', async () => {
  const other = await createTestCtx(database.db)
  await createNamed('theirs', other)
  const readForeignId = async () => (await listEvents(other, EventQuery.parse({}))).data[0]?.id
  const foreignId = await waitUntil(readForeignId, { describe: 'the feed shows the event' })
  for (const after of [foreignId, newId('evt')]) {
    await expect(list({ after })).rejects.toMatchObject({
      code: 'validation_error',
      issues: [{ path: 'after', message: eventNotFound }],
    })
  }
  await createNamed('mine')
  const ownId = (await waitForEvents(1)).data[0]?.id ?? ''
  await expect(list({ after: ownId, sort: '-createdAt' })).rejects.toMatchObject({ issues: [{ path: 'sort' }] })
})

test('restored events with transaction ids of another server do not block the feed', async () => {
  for (const name of ['a', 'b']) await createNamed(name)
  await ctx.db.execute(sql`
    update events set transaction_id = '900000000000' where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(getNames(await list())).toEqual([])
  await adoptRestoredEvents(ctx.db)
  await createNamed('c')
  expect(getNames(await waitForEvents(3, { sort: 'createdAt' }))).toEqual(['a', 'b', 'c'])
})

test('after works if the server has reached the ids of some restored events', async () => {
  for (const name of ['a', 'b']) await createNamed(name)
  const [b] = (await waitForEvents(2)).data
  await createNamed('c')
  await ctx.db.execute(sql`
    update events set transaction_id = '900000000000'
    where data ->> 'firstName' = 'c' and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  await adoptRestoredEvents(ctx.db)
  expect(getNames(await list({ after: b?.id ?? '' }))).toEqual(['c'])
})

// On a cluster, the coordinator has reached greater ids than the server of the events.
test('events of this server keep their transaction ids', async () => {
  await createNamed('a')
  const readIds = () =>
    ctx.db.select({ id: events.transactionId }).from(events).where(eq(events.workspaceId, ctx.workspaceId))
  const ids = await readIds()
  await adoptRestoredEvents(ctx.db)
  expect(await readIds()).toEqual(ids)
})

test('expired events in a kept partition are purged unless a delivery is PENDING', async () => {
  await createTestWebhook(ctx)
  for (const name of ['old', 'wanted', 'young']) await createNamed(name)
  await ctx.db.execute(sql`
    update events set created_at = now() - interval '38 days'
    where data ->> 'firstName' <> 'young' and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  await ctx.db.execute(sql`
    update deliveries d set status = 'FAILED' from events e
    where e.workspace_id = d.workspace_id and e.id = d.event_id and e.data ->> 'firstName' <> 'wanted' and d.workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(await purgeEvents(ctx.db)).toBe(1)
  expect(await purgeEvents(ctx.db)).toBe(0)
  expect(getNames(await waitForEvents(2))).toEqual(['young', 'wanted'])
})

test('every event type has a named schema and a valid example', () => {
  const data = describeEventTypes()
  expect(data.map(({ type }) => type).toSorted()).toEqual([...eventTypes, 'webhook.test'].toSorted())
  for (const { type, schema, example } of data) {
    const title = String(schema['title'])
    expect(title).toMatch(/^[A-Z]\w+$/)
    expect(schema).toMatchObject({
      anyOf: [{ $ref: `#/$defs/${title}` }, { $ref: '#/$defs/RedactedRecord' }],
      $defs: { [title]: { type: 'object' }, RedactedRecord: { required: ['id', 'redacted'] } },
    })
    expect(example).toMatchObject({ type, id: expect.stringMatching(/^evt_/) })
    const { data: parsed, error } = eventDefinitions[type as keyof typeof eventDefinitions].schema.safeParse(
      example.data,
    )
    expect([type, error, parsed]).toEqual([type, undefined, example.data])
  }
})
