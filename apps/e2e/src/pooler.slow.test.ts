import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { findPgbouncer, startPgbouncer, type TestPooler } from '@rapport/testing/postgres/pgbouncer.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { addConfirmedSubscribers, readRecipientCounts } from './campaign-recipients.ts'
import { countOpenWork, type Stack, startStack } from './stack.ts'

const pgbouncer = await findPgbouncer()

describe.skipIf(!pgbouncer)('behind PgBouncer in transaction mode', () => {
  let direct: TestDatabase
  let pooler: TestPooler
  /** The URL leads through the pooler; the queries of the tests use the direct connection. */
  let database: TestDatabase
  let stack: Stack | undefined
  beforeEach(async () => {
    direct = await createTestDatabase()
    await putBehindPooler()
  })
  afterEach(async () => {
    await stack?.close()
    stack = undefined
    await database.close()
  })

  async function putBehindPooler(connectQuery?: string) {
    pooler = await startPgbouncer(pgbouncer ?? '', { databaseUrl: direct.url, ...(connectQuery && { connectQuery }) })
    const close = async () => {
      await pooler.close()
      await direct.close()
    }
    database = { url: pooler.url, db: direct.db, pool: direct.pool, close }
  }

  // With the queues in PostgreSQL: they use more connection features than the rest of Rapport.
  test('writes, webhooks, imports, exports and campaigns work', async () => {
    stack = await startStack('postgres', { DATABASE_DIRECT_URL: direct.url, WORKER_CONCURRENCY: '10' }, { database })
    const { api, inbox } = stack
    const { key, workspaceId } = await api.createWorkspace()
    const receiver = await startHttpReceiver()
    await api.call('POST', '/webhooks', { key, body: { url: receiver.url, eventTypes: ['contact.created'] } })

    const written = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        api.call('POST', '/contacts', { key, body: { email: `writer${n}@example.com`, firstName: 'Ada' } }),
      ),
    )
    expect(new Set(written.map(({ status }) => status))).toEqual(new Set([201]))
    const rows = Array.from({ length: 300 }, (_, n) => `reader${n}@example.com`)
    const imported = await api.call('POST', '/contacts/import', {
      key,
      raw: ['email', ...rows].join('\n'),
      headers: { 'content-type': 'text/csv' },
    })
    expect(imported.status).toBe(202)

    const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Monthly newsletter' } })
    await addConfirmedSubscribers(direct, { workspaceId, listId: list.body.id }, 100)
    const draft = { name: 'News', subject: 'News', html: '<p>News</p>', listId: list.body.id }
    const campaign = await api.call<{ id: string }>('POST', '/campaigns', { key, body: draft })
    expect((await api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })).body).toEqual({
      queued: 100,
      unseen: 0,
    })

    await waitUntil(isAllDone, { describe: 'all work is done', timeoutMs: 60_000 })
    expect(await readRecipientCounts(direct, campaign.body.id)).toMatchObject({ queued: 100, sent: 100 })
    expect(inbox.mails.filter(({ subject }) => subject === 'News')).toHaveLength(100)
    expect(receiver.requests).toHaveLength(60)
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(60)
    for (const search of ['?limit=5', '?search=reader77&limit=5']) {
      expect((await api.call('GET', `/contacts${search}`, { key })).status).toBe(200)
    }
    const exported = await api.call<string>('GET', '/contacts/export?format=csv', { key })
    expect(exported.body.trim().split('\n')).toHaveLength(1 + 60 + rows.length + 100)

    const output = [...stack.apis, ...stack.workers].map((program) => program.stdout()).join('')
    expect(output).not.toMatch(/"level":(40|50|60)(?!.*(append-only file|keeps no))/)
    await receiver.close()
  })

  test('with Redis, works without DATABASE_DIRECT_URL and warns about missing timeouts', async () => {
    await pooler.close()
    await putBehindPooler('select 1')
    stack = await startStack('redis', {}, { database })
    const missing = 'Connections have no idle_in_transaction_session_timeout, no lock_timeout, no statement_timeout'
    for (const program of [...stack.apis, ...stack.workers]) {
      await waitUntil(() => program.stdout().includes(missing), { describe: 'the warning is logged' })
    }
    const { key } = await stack.api.createWorkspace()
    const receiver = await startHttpReceiver()
    await stack.api.call('POST', '/webhooks', { key, body: { url: receiver.url, eventTypes: ['*'] } })
    await stack.api.call('POST', '/contacts', { key, body: { email: 'ada@example.com' } })
    await receiver.waitFor(1)
    await receiver.close()
  })

  test('a migration requires DATABASE_DIRECT_URL and is idempotent', async () => {
    const script = 'packages/core/src/db/migrate.ts'
    const refused = await startProcess({ script, env: { DATABASE_URL: pooler.url } })
    expect(await refused.exited).toMatchObject({ code: 78 })
    expect(refused.stderr()).toContain('DATABASE_DIRECT_URL')
    for (let run = 0; run < 2; run += 1) {
      const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: direct.url }
      expect(await (await startProcess({ script, env })).exited).toMatchObject({ code: 0 })
    }
  })

  const isAllDone = async () => (await countOpenWork({ database: direct })) === 0
})
