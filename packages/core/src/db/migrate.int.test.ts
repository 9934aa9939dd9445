import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { findBacklogs } from '../webhooks/drain/find-backlogs.ts'
import { hasPendingMigrations, migrate } from './migrate.ts'
import { createEmptyDatabase, createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { migrateUntil } from '@rapport/testing/previous-release/previous-release.ts'

/** The last migration before `webhook_drains`. */
const lastBeforeDrains = '0020_indexes'
/** The last migration before one drain per workspace. */
const lastBeforeDrainsOfWorkspaces = '0033_work'

const database = useForTest(createEmptyDatabase)

const appliedCount = async () => {
  const result = await database.db.execute(sql`select count(*)::int as count from drizzle.__drizzle_migrations`)
  return result.rows[0]?.['count']
}

test('concurrent migrations of an empty database apply each migration once', async () => {
  expect(await hasPendingMigrations(database.db)).toBe(true)
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)))
  expect(await hasPendingMigrations(database.db)).toBe(false)
  const applied = await appliedCount()
  const { email } = await createTestContact(await createTestCtx(database.db))
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)))
  expect(await appliedCount()).toBe(applied)
  expect((await database.db.execute(sql`select email from contacts`)).rows).toEqual([{ email }])
})

test('a database without the newest migration has pending migrations', async () => {
  await migrate(database.url)
  await database.db.execute(sql`update drizzle.__drizzle_migrations set created_at = created_at - 1
    where created_at = (select max(created_at) from drizzle.__drizzle_migrations)`)
  expect(await hasPendingMigrations(database.db)).toBe(true)
})

test('a database of a newer release has no pending migrations', async () => {
  await migrate(database.url)
  await database.db.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`,
  )
  expect(await hasPendingMigrations(database.db)).toBe(false)
})

test('partitioning keeps all rows, and deleting a workspace still deletes its rows', async () => {
  await migrateUntil(database.pool, '0014_running_in_earnest')
  await database.db.execute(sql`
    with workspace as (insert into workspaces (id, name) select uuidv7(), 'w' from generate_series(1, 2) returning id),
    webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select id, uuidv7(), 'https://example.com', '{*}', '' from workspace returning workspace_id, id),
    event as (
      insert into events (workspace_id, id, type, data)
      select id, uuidv7(make_interval(days => -n)), 'contact.created', '{}' from workspace, generate_series(0, 29) n
      returning workspace_id, id)
    insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
    select e.workspace_id, uuidv7(), w.id, e.id, 'contact.created' from event e join webhook w using (workspace_id)`)
  // Omits columns that later migrations added.
  const read = async (table: string) =>
    (
      await database.pool.query<{ row: string }>(
        `select (to_jsonb(t) - array['request_id', 'traceparent'])::text as row from ${table} t order by 1`,
      )
    ).rows
  const before = await Promise.all(['events', 'deliveries'].map(read))
  expect(before.map(({ length }) => length)).toEqual([60, 60])
  await migrate(database.url)
  expect(await Promise.all(['events', 'deliveries'].map(read))).toEqual(before)
  await database.db.execute(sql`delete from workspaces where id = (select workspace_id from events limit 1)`)
  expect((await Promise.all(['events', 'deliveries'].map(read))).map(({ length }) => length)).toEqual([30, 30])
})

test('an upgrade keeps 10,000 waiting deliveries PENDING without outbox rows', async () => {
  await migrateUntil(database.pool, lastBeforeDrains)
  await database.db.execute(sql`
    with workspace as (insert into workspaces (id, name) values (uuidv7(), 'w') returning id),
    webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select id, uuidv7(), 'https://example.com/' || n, '{*}', '' from workspace, generate_series(1, 5) n
      returning workspace_id, id),
    event as (
      insert into events (workspace_id, id, type, data)
      select id, uuidv7(), 'contact.created', '{}' from workspace, generate_series(1, 2000) returning workspace_id, id),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
      select e.workspace_id, uuidv7(), w.id, e.id, 'contact.created' from event e cross join webhook w
      returning workspace_id, id, webhook_id)
    insert into outbox (id, workspace_id, queue, lane, relayed_epoch, relayed_at, relays)
    select id, workspace_id, 'webhooks', webhook_id, case when n % 7 = 0 then 'one' end,
      case when n % 7 = 0 then now() end, case when n % 7 = 0 then 1 else 0 end
    from (select *, row_number() over () as n from delivery) delivery`)
  await database.db.execute(sql`
    insert into outbox (id, workspace_id, queue) select uuidv7(), id, 'mail' from workspaces`)
  const { rows: sending } = await database.pool.query<{ id: string }>(`
    update deliveries set status = 'SENDING', worker_id = gen_random_uuid(), attempted_at = now()
    where id = (select id from outbox where relayed_epoch is not null limit 1) returning id`)
  await migrate(database.url)
  const { rows: counts } = await database.pool.query(
    'select status, count(*)::int from deliveries group by status order by status',
  )
  expect(counts).toEqual([
    { status: 'INTERRUPTED', count: 1 },
    { status: 'PENDING', count: 9_999 },
  ])
  const { rows: interrupted } = await database.pool.query(`select id from deliveries where status = 'INTERRUPTED'`)
  expect(interrupted).toEqual(sending)
  const { rows: work } = await database.pool.query('select queue from outbox')
  expect(work).toEqual([{ queue: 'mail' }])
  expect((await findBacklogs(database.db)).workspaceIds).toHaveLength(1)
})

test('an upgrade interrupts the deliveries that a former worker had taken', async () => {
  await migrateUntil(database.pool, lastBeforeDrainsOfWorkspaces)
  const workerId = randomUUID()
  await database.pool.query(
    `with workspace as (insert into workspaces (id, name) values (uuidv7(), 'w') returning id),
    webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select id, uuidv7(), 'https://example.com/' || n, '{*}', '' from workspace, generate_series(1, 3) n
      returning workspace_id, id, url),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type, status, error)
      select w.workspace_id, uuidv7(), w.id, uuidv7(), 'contact.created', status, null
      from webhook w, unnest(array['PENDING', 'SUCCEEDED', 'PENDING']) status
      returning workspace_id, webhook_id, id, status)
    insert into webhook_drains (workspace_id, webhook_id, worker_id, token, delivery_ids, taken_at, unreachable_count)
    select w.workspace_id, w.id, case when url like '%/2' then $1::uuid end, case when url like '%/2' then uuidv7() end,
      case when url like '%/2' then array(
        (select d.id from delivery d where d.webhook_id = w.id and status = 'PENDING' limit 1)
        union all (select d.id from delivery d where d.webhook_id = w.id and status = 'SUCCEEDED')) else '{}' end,
      case when url like '%/2' then timestamptz '2026-01-02 03:04:05Z' end, 1
    from webhook w where url not like '%/3'`,
    [workerId],
  )
  await migrate(database.url)
  const { rows } = await database.pool.query(
    `select url, status, worker_id, attempted_at, count(*)::int from deliveries d
     join webhooks w on w.id = webhook_id group by 1, 2, 3, 4 order by 1, 2`,
  )
  const unclaimed = [1, 3].map((n) => [
    { url: `https://example.com/${n}`, status: 'PENDING', worker_id: null, attempted_at: null, count: 2 },
    { url: `https://example.com/${n}`, status: 'SUCCEEDED', worker_id: null, attempted_at: null, count: 1 },
  ])
  const url = 'https://example.com/2'
  const takenAt = new Date('2026-01-02T03:04:05Z')
  expect(rows).toEqual([
    ...(unclaimed[0] ?? []),
    { url, status: 'INTERRUPTED', worker_id: workerId, attempted_at: takenAt, count: 1 },
    { url, status: 'PENDING', worker_id: null, attempted_at: null, count: 1 },
    { url, status: 'SUCCEEDED', worker_id: null, attempted_at: null, count: 1 },
    ...(unclaimed[1] ?? []),
  ])
  expect((await findBacklogs(database.db)).workspaceIds).toHaveLength(1)
  const { rows: claims } = await database.pool.query(
    `select token, worker_id, delivery_ids, unreachable_count from webhook_drains`,
  )
  const released = { token: null, worker_id: null, delivery_ids: [], unreachable_count: 1 }
  expect(claims).toEqual([released, released])
  const claiming = database.pool.query('update webhook_drains set token = gen_random_uuid()')
  await expect(claiming, 'a worker of the release before').rejects.toThrow('webhook_drains_token_check')
})

test('the migrations create every table of the schema', async () => {
  const template = await createTestDatabase()
  const tables = await template.db.execute(sql`
    select table_name from information_schema.tables where table_schema = 'public'`)
  await template.close()
  expect(tables.rows.length).toBeGreaterThan(15)
})

test('a migration fails immediately if it cannot reach the database', async () => {
  await expect(migrate('postgres://127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
})
