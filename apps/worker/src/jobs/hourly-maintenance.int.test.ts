import {
  createTestContact,
  createTestForm,
  createTestMember,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { queueTestImport, runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, readHealth, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { audit } from '@rapport/core/audit/audit.ts'
import { deleteForm } from '@rapport/core/forms/forms.ts'
import { submitForm } from '@rapport/core/forms/submissions.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { readWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { readDomain } from '@rapport/core/domains/domains.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { addTestDomain, publishRecords } from '@rapport/testing/network/sending-domains.ts'
import { createTestDeps } from '../../test/fixtures.ts'
import { runHourlyMaintenance } from './hourly-maintenance.ts'
import { timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForTest(() => createTestDeps(database.db))

/** Runs the hourly maintenance. Returns its log lines of level info and above. */
async function maintain(overrides: Partial<typeof deps> = {}): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>)
  const log = pino({ base: null, timestamp: false }, { write })
  await runHourlyMaintenance({ ...deps, log, ...overrides })
  return lines
}

test('warns about failing webhooks, disables others, and logs each', async () => {
  const [failing, failed] = [await createTestWebhook(ctx), await createTestWebhook(ctx)]
  await setHealth(ctx, failing.id, createFailingPeriod(30, 5))
  await setHealth(ctx, failed.id, createFailingPeriod(130, 14))
  const lines = await maintain()
  const { enabled, disabledReason } = await readWebhook(ctx, failed.id)
  expect([enabled, (await readHealth(ctx, failing.id))?.warnedAt]).toEqual([false, expect.any(String)])
  const { workspaceId } = ctx
  expect(lines.filter((line) => line['webhookId'])).toEqual([
    { level: 40, workspaceId, webhookId: failed.id, reason: disabledReason, msg: 'webhook disabled' },
    { level: 30, workspaceId, webhookId: failing.id, msg: 'webhook failure warning enqueued' },
  ])
})

test('checks sending domains daily, PENDING ones hourly, and logs what changes', async () => {
  const dns = await startNameServer({ denyUnknown: true })
  const settings = { ...deps.settings, dnsServers: [dns.address] }
  const hoursAgo = (hours: number) => timestampAt(Date.now() - hours * 60 * 60 * 1000)
  const added = await addTestDomain(ctx, 'new.example')
  const lost = await addTestDomain(ctx, 'lost.example', { status: 'VERIFIED', checkedAt: hoursAgo(25) })
  const pending = await addTestDomain(ctx, 'pending.example', { checkedAt: hoursAgo(1) })
  const fresh = await addTestDomain(ctx, 'fresh.example', { status: 'VERIFIED', checkedAt: hoursAgo(2) })
  const stale = { checkedAt: hoursAgo(2), createdAt: hoursAgo(100) }
  const abandoned = await addTestDomain(ctx, 'abandoned.example', stale)
  for (const domain of [added, pending, abandoned]) publishRecords(dns, ctx, domain)
  const lines = await maintain({ settings })
  dns.close()
  const statusOf = async ({ id }: typeof added) => (await readDomain(ctx, id)).status
  expect(await Promise.all([added, lost, pending, fresh, abandoned].map(statusOf))).toEqual([
    'VERIFIED',
    'FAILED',
    'VERIFIED',
    'VERIFIED',
    'PENDING',
  ])
  const logged = lines
    .filter((line) => line['domainId'])
    .map(({ level, domain, msg }) => JSON.stringify([level, domain, msg]))
  expect(new Set(logged)).toEqual(
    new Set([
      '[30,"new.example","sending domain verified"]',
      '[30,"pending.example","sending domain verified"]',
      '[40,"lost.example","sending domain failed"]',
    ]),
  )
})

test('a domain with a strange record, or that cannot be checked, holds up no other', async () => {
  const dns = await startNameServer({ denyUnknown: true })
  const settings = { ...deps.settings, dnsServers: [dns.address] }
  const strange = await addTestDomain(ctx, 'strange.example')
  dns.setTextRecords('_dmarc.strange.example', 'a\0b')
  const broken = await addTestDomain(ctx, 'broken.example')
  await database.pool.query(`update domains set keys = '{}' where name = 'broken.example'`)
  const next = await addTestDomain(ctx, 'next.example')
  publishRecords(dns, ctx, next)
  const lines = await maintain({ settings })
  dns.close()
  await database.pool.query(`delete from domains where name = 'broken.example'`)
  const { records } = await readDomain(ctx, strange.id)
  expect(records.at(-1)).toMatchObject({ status: 'FAILED', problem: expect.stringContaining('"a\\u0000b"') })
  expect(lines.filter((line) => line['domainId'])).toMatchObject([
    { level: 50, domainId: broken.id, msg: 'sending domain not checked' },
    { domainId: next.id, msg: 'sending domain verified' },
  ])
})

test('checks no more sending domains once the worker stops', async () => {
  const { id } = await addTestDomain(ctx, 'waiting.example')
  await maintain({ stopping: AbortSignal.abort() })
  expect(await readDomain(ctx, id)).toMatchObject({ checkedAt: null })
})

describe('deletes records that are older than their retention', () => {
  const retention = { submissionsDays: 2, eventsDays: 2, auditDays: 2, importsDays: 2, emailsDays: 2 }
  /** Backdates one of the two records of each kind. */
  const kinds: Record<string, { create: () => Promise<unknown>; table: string; moment: string }> = {
    submissions: {
      async create() {
        const form = await createTestForm(ctx)
        for (const email of ['ada@example.com', 'bob@example.com'])
          await submitForm(ctx, form.id, { values: { email } })
      },
      table: 'form_submissions',
      moment: 'created_at',
    },
    'audit entries': {
      create: () => Promise.all([1, 2].map(() => audit(ctx, 'contacts.exported'))),
      table: 'audit_entries',
      moment: 'created_at',
    },
    'finished imports': {
      async create() {
        for (const email of ['ada@example.com', 'bob@example.com']) await runTestImport(ctx, `email\n${email}\n`)
      },
      table: 'imports',
      moment: 'completed_at',
    },
  }
  const countRows = async (table: string) =>
    (await database.pool.query(`select from ${table} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])).rowCount

  test.each(Object.entries(kinds))('%s', async (_, { create, table, moment }) => {
    await database.pool.query(`delete from ${table}`)
    await create()
    const past = `now() - interval '3 days'`
    const end = moment === 'created_at' ? '' : `, ${moment} = ${past}`
    const first = `(select min(id::text)::uuid from ${table})`
    await database.pool.query(`update ${table} set created_at = ${past} ${end} where id = ${first}`)
    await maintain({ retention: { ...retention, submissionsDays: 0, auditDays: 0, importsDays: 0, emailsDays: 0 } })
    expect(await countRows(table)).toBe(2)
    await maintain({ retention })
    expect(await countRows(table)).toBe(1)
  })

  test.each([
    ['idempotency_records', '24 hours', `created_at, key, request_hash, status, body: uuidv7(), 'x', 200, ''`],
    ['sessions', '0 hours', 'expires_at, user_id, token_hash: user_id, uuidv7()'],
    ['password_resets', '1 hour', 'expires_at, user_id, id, token_hash: user_id, uuidv7(), uuidv7()'],
    ['emails', '2 days', `ended_at, id, template_id, template_version, ground: uuidv7(), uuidv7(), 1, 'REQUEST'`],
    ['visitor_mails', '30 days', `created_at, id, kind, status: uuidv7(), 'CONFIRMATION', 'RELEASED'`],
    ['soft_bounces', '180 days', 'mailed_at, email_hash: uuidv7()'],
  ])('%s after %s, and not before', async (table, lifetime, row) => {
    const [columns, values] = row.split(': ')
    const workspaceId = table === 'password_resets' ? '' : 'workspace_id,'
    await database.pool.query(`delete from ${table}`)
    await database.pool.query(
      `insert into ${table} (${workspaceId} ${columns})
       select ${workspaceId} now() - interval '${lifetime}' + since, ${values}
       from members, unnest('{-1 minute, 1 minute}'::interval[]) since where user_id = $1`,
      [uuidOf(await createTestMember(ctx))],
    )
    await maintain({ retention })
    expect((await database.pool.query(`select from ${table}`)).rowCount).toBe(1)
  })

  test('events and deliveries, with their partition', async () => {
    await createTestContact(ctx)
    const kept = await countRows('events')
    await database.pool.query(
      `insert into events (workspace_id, id, type, data, created_at)
       values ($1, '01900000-0000-7000-8000-000000000000', 'contact.created', '{}', now() - interval '10 days')`,
      [uuidOf(ctx.workspaceId)],
    )
    await maintain()
    expect(await countRows('events')).toBe((kept ?? 0) + 1)
    await maintain({ retention })
    expect(await countRows('events')).toBe(kept)
  })

  test('an import that still runs is kept', async () => {
    await queueTestImport(ctx, 'email\nada@example.com\n')
    await database.pool.query(`update imports set created_at = now() - interval '3 days'`)
    const before = await countRows('imports')
    await maintain({ retention })
    expect(await countRows('imports')).toBe(before)
  })
})

test('deletes the rows of deleted forms', async () => {
  const form = await createTestForm(ctx)
  await submitForm(ctx, form.id, { values: { email: 'ada@example.com' } })
  await deleteForm(ctx, form.id)
  const count = async () =>
    (await database.pool.query('select from form_submissions where form_id = $1', [uuidOf(form.id)])).rowCount
  await maintain()
  expect(await count()).toBe(1)
  await database.pool.query(`update forms set deleted_at = now() - interval '1 hour' where deleted_at is not null`)
  await maintain()
  expect(await count()).toBe(0)
})

test('a worker that shuts down leaves other webhooks to the next run', async () => {
  const failing = [await createTestWebhook(ctx), await createTestWebhook(ctx)]
  for (const { id } of failing) await setHealth(ctx, id, createFailingPeriod(130, 14))
  deps.stop()
  expect(await maintain()).toHaveLength(1)
  const states = await Promise.all(failing.map(async ({ id }) => (await readWebhook(ctx, id)).enabled))
  expect(states.filter((isEnabled) => isEnabled)).toHaveLength(1)
})

test('checks webhooks even if a purge fails', async () => {
  const { id } = await createTestWebhook(ctx)
  await setHealth(ctx, id, createFailingPeriod(130, 14))
  await database.pool.query('alter table login_failures rename to login_failures_renamed')
  await expect(maintain()).rejects.toThrow()
  await database.pool.query('alter table login_failures_renamed rename to login_failures')
  expect(await readWebhook(ctx, id)).toMatchObject({ enabled: false })
})
