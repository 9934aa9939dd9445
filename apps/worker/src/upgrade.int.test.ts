/** After an upgrade, the worker finishes work that was pending or claimed in the previous release. */
import { migrate } from '@rapport/core/db/migrate.ts'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { restorePreviousRelease } from '@rapport/testing/previous-release/previous-release.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../test/fixtures.ts'
import { startWorker } from './worker.ts'

const http = useForFile(() => startHttpReceiver())
const smtp = useForFile(() => startSmtpReceiver())
const database = useForFile(async () => {
  const database = await createEmptyDatabase()
  await restorePreviousRelease(database.pool)
  await migrate(database.url)
  return database
})

const read = async (text: string) => (await database.pool.query<Record<string, unknown>>(text)).rows

test('finishes pending work of the previous release and recovers orphaned claims', async () => {
  await database.pool.query('update webhooks set url = $1 where enabled', [http.url])
  // The dates in the dump are fixed; without this and the long retention, events and deliveries would have expired.
  await database.pool.query('update events set created_at = now()')
  await database.pool.query('update deliveries set created_at = now()')
  // The migration interrupts the one that a worker of the previous release had taken.
  expect(await read(`select count(*)::int as count from deliveries where status = 'INTERRUPTED'`)).toEqual([
    { count: 3 },
  ])
  const retention = { RETENTION_EVENTS_DAYS: '36500' }
  const config = testWorkerConfig({ DATABASE_URL: database.url, SMTP_URL: smtp.url, ...retention })
  const worker = await startWorker(config, silentLog, { timings: shortTimings })
  onTestFinished(() => worker.close())

  const unfinished = `
    select 'campaign' as work from campaigns where status = 'SENDING'
    union all select 'import' from imports where status in ('QUEUED', 'RUNNING')
    union all select 'mail' from mails where status in ('PENDING', 'SENDING')
    union all select 'delivery' from deliveries where status = 'PENDING'
    union all select 'claim' from work where worker_id is not null
    union all select 'erasure' from erasures
    union all select 'workspace' from workspaces where deleted_at is not null
    union all select 'list' from lists where deleted_at is not null
    union all select 'custom field' from custom_fields where removed_at is not null`
  await waitUntil(async () => (await read(unfinished)).length === 0, {
    describe: 'all work of the previous release is done',
    timeoutMs: 30_000,
  }).catch(async (error: unknown) => {
    throw new Error(`Unfinished: ${JSON.stringify(await read(unfinished))}`, { cause: error })
  })

  expect(await read(`select name, status from campaigns where status <> 'DRAFT' order by name`)).toEqual([
    { name: 'Campaign CANCELED', status: 'CANCELED' },
    { name: 'Campaign PAUSED', status: 'PAUSED' },
    { name: 'Campaign SENDING', status: 'SENT' },
    { name: 'Campaign SENT', status: 'SENT' },
  ])
  expect(
    await read(`
      select r.status, count(*)::int as count from campaign_recipients r
      join campaigns c on c.workspace_id = r.workspace_id and c.id = r.campaign_id
      where c.name = 'Campaign SENDING' group by r.status order by 1`),
  ).toEqual([
    { status: 'FAILED', count: 1 },
    { status: 'INTERRUPTED', count: 1 },
    { status: 'SENT', count: 5 },
    { status: 'SKIPPED', count: 1 },
  ])
  expect(await read(`select email from contacts where email like 'imported-%' order by 1`)).toEqual(
    // The previous release had imported the first row. The third row has no email address.
    [2, 3, 4].map((n) => ({ email: `imported-${n}@example.com` })),
  )
  expect(smtp.mails.map(({ to }) => to.join()).toSorted()).toEqual([
    'grace@example.com',
    ...[10, 12, 13].map((n) => `person-${n}@example.com`),
  ])
  // The delivery that a worker of the previous release had taken.
  expect(await read(`select id from deliveries where status = 'INTERRUPTED' and request_id is not null`)).toHaveLength(
    1,
  )
  const types = http.requests.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
  expect(types).toEqual(
    expect.arrayContaining(['contact.created', 'deal.updated', 'campaign.sent', 'import.completed']),
  )
  expect(http.requests.every(({ headers }) => 'webhook-signature' in headers)).toBe(true)
})
