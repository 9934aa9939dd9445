import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { eventTypes } from '../events/event-definition.ts'
import { describeEventTypes, eventDefinitions } from '../operations/event-types.ts'
import { purgeEvents } from '../events/emit.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { createTestDatabase, openTransaction } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { transaction } from '../db/transaction.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { EventQuery } from './deliveries.schema.ts'
import { listEvents } from './event-feed.ts'
import { adoptRestoredEvents } from '../db/adopt-restored-events.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const createNamed = (firstName: string, on: Ctx = ctx) => createTestContact(on, { firstName })
const list = async (query: Record<string, string> = {}) => listEvents(ctx, EventQuery.parse(query))
/**
 * The same once it has come so far: a transaction in the database of another test that ends at this very moment cannot be
 * told from one of ours, and holds the newest events back until the next look.
 */
const listed = (count: number, query: Record<string, string> = {}) =>
  waitUntil(
    async () => {
      const page = await list(query)
      return page.data.length >= count && page
    },
    { describe: `the feed shows ${count} events` },
  )
const namesOf = ({ data }: { data: { data: unknown }[] }) =>
  data.map((event) => (event.data as { firstName: string }).firstName)

test('who reads on after an event misses none, though a transaction that began before commits after it was read', async () => {
  await createNamed('known')
  const [known] = (await listed(1)).data
  const slow = await openTransaction(database.db, (db) => createNamed('slow', { ...ctx, db }))
  await createNamed('quick')
  // Were the quick one shown now, the slow one would come up behind whoever reads on after it.
  expect(namesOf(await list({ after: known?.id ?? '' }))).toEqual([])
  await slow.commit()
  expect(namesOf(await listed(2, { after: known?.id ?? '' }))).toEqual(['slow', 'quick'])
})

test('a transaction that takes long in another database of the server holds nothing up', async () => {
  const elsewhere = await createTestDatabase()
  const there = await createTestCtx(elsewhere.db)
  const slow = await openTransaction(elsewhere.db, (db) => createNamed('slow', { ...there, db }))
  await createNamed('quick')
  expect(namesOf(await listed(1))).toEqual(['quick'])
  await slow.commit()
  await elsewhere.close()
})

test('readers that go on while fifty write at once, some slowly and some in vain, see each acknowledged event exactly once', async () => {
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
  let after = (await listed(1)).data[0]?.id ?? ''
  const readOn = async () => {
    const { data } = await list({ after, limit: '3' })
    seen.push(...data.map((event) => (event.data as { id: string }).id))
    after = data.at(-1)?.id ?? after
    return data.length
  }
  const writing = Promise.all(Array.from({ length: 50 }, (_, n) => write(n)))
  // On until all is there, and then until there is nothing more.
  while (seen.length < 40 || (await readOn()) > 0) await readOn()
  await writing
  expect(acknowledged).toHaveLength(40)
  expect(seen.toSorted()).toEqual(acknowledged.toSorted())
})

test('reading on is from the oldest, page by page, and can be for one type', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await createNamed(name)
  await listed(4)
  const oldest = (await listed(1, { sort: 'createdAt', limit: '1' })).data[0]?.id ?? ''
  const first = await waitUntil(
    async () => {
      const page = await list({ after: oldest, limit: '2' })
      return page.nextCursor !== null && page
    },
    { describe: 'a page that another follows' },
  )
  expect(namesOf(first)).toEqual(['b', 'c'])
  const second = await listed(1, { after: oldest, limit: '2', cursor: first.nextCursor ?? '' })
  expect([namesOf(second), second.nextCursor]).toEqual([['d'], null])
  expect(namesOf(await listed(4))).toEqual(['d', 'c', 'b', 'a'])
  expect(namesOf(await listed(3, { type: 'contact.created', after: oldest }))).toEqual(['b', 'c', 'd'])
  expect(namesOf(await list({ type: 'contact.deleted' }))).toEqual([])
})

test('an event that is not there, or of another workspace, is nothing to read on after; nor does after go backwards', async () => {
  const other = await createTestCtx(database.db)
  await createNamed('theirs', other)
  const theirs = (await listEvents(other, EventQuery.parse({}))).data[0]?.id ?? ''
  for (const after of [theirs, newId('evt')]) {
    await expect(list({ after })).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'after' }] })
  }
  await createNamed('mine')
  const mine = (await listed(1)).data[0]?.id ?? ''
  await expect(list({ after: mine, sort: '-createdAt' })).rejects.toMatchObject({ issues: [{ path: 'sort' }] })
})

test('events of a dump from another server, whose count was further on, do not hold the feed up', async () => {
  for (const name of ['a', 'b']) await createNamed(name)
  await ctx.db.execute(sql`
    update events set transaction_id = '900000000000' where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(namesOf(await list())).toEqual([])
  await adoptRestoredEvents(ctx.db)
  await createNamed('c')
  expect(namesOf(await listed(3, { sort: 'createdAt' }))).toEqual(['a', 'b', 'c'])
})

test('events that no DROP took go a week later, a part at a time, but for those just asked for again', async () => {
  await createTestWebhook(ctx)
  for (const name of ['old', 'wanted', 'young']) await createNamed(name)
  await ctx.db.execute(sql`
    update events set created_at = now() - interval '38 days'
    where data ->> 'firstName' <> 'young' and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  await ctx.db.execute(sql`
    update deliveries d set status = 'FAILED' from events e
    where e.id = d.event_id and e.data ->> 'firstName' <> 'wanted' and d.workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(await purgeEvents(ctx.db)).toBe(1)
  expect(await purgeEvents(ctx.db)).toBe(0)
  expect(namesOf(await listed(2))).toEqual(['young', 'wanted'])
})

test('every type that is told has a schema that its example fits, under a name of its own', () => {
  const { data } = describeEventTypes()
  expect(data.map(({ type }) => type).toSorted()).toEqual([...eventTypes, 'webhook.test'].toSorted())
  for (const { type, schema, example } of data) {
    expect(schema).toMatchObject({ type: 'object', title: expect.stringMatching(/^[A-Z]\w+$/) })
    expect(example).toMatchObject({ type, id: expect.stringMatching(/^evt_/) })
    const { data: parsed, error } = eventDefinitions[type as keyof typeof eventDefinitions].schema.safeParse(
      example.data,
    )
    expect([type, error, parsed]).toEqual([type, undefined, example.data])
  }
})
