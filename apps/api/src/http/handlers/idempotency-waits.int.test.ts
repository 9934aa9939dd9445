/** What a POST with an Idempotency-Key holds while it waits for its turn. */
import { Worker } from 'node:worker_threads'
import { turns } from '@rapport/core/kernel/concurrency/limit-in-turns.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { eraseTestContact } from '../../../test/records.ts'
import { expectError, freshEmail, type Json, startTestApi, type TestWorkspace } from '../../../test/testing.ts'

/** A machine under load may take long while the thread is held. */
const renderingDeadlines = { checkMs: 60_000, minMs: 60_000, charactersPerMs: 500 }
const api = useForFile(() => startTestApi({ settings: { renderingDeadlines } }))

const campaign = { name: 'November', subject: 'News' }
const template = { name: 'Reset', subject: 'Hello', text: 'Hello', ground: 'SECURITY' }

let workspace: TestWorkspace
let ids: Record<'listId' | 'campaignId' | 'templateId', string>
const create = async (path: string, body: Json) => (await api.create<{ id: string }>(path, workspace.key, body)).id
beforeEach(async () => {
  workspace = await api.signUp()
  const listId = await create('/lists', { name: 'News' })
  await create(`/lists/${listId}/subscribers`, { email: freshEmail(), status: 'CONFIRMED' })
  const campaignId = await create('/campaigns', { ...campaign, listId })
  ids = { listId, campaignId, templateId: await create('/templates', template) }
})

interface Post {
  path: string
  body?: Json
  /** The table that gets one row. */
  stores?: string
}

const posts: Record<string, () => Post> = {
  'a new campaign': () => ({ path: '/campaigns', body: { ...campaign, listId: ids.listId }, stores: 'campaigns' }),
  'a new template': () => ({ path: '/templates', body: template, stores: 'templates' }),
  'the preview of a campaign': () => ({ path: `/campaigns/${ids.campaignId}/preview`, body: {} }),
  'the preview of a template': () => ({ path: `/templates/${ids.templateId}/preview`, body: {} }),
  'the sending of a campaign': () => ({ path: `/campaigns/${ids.campaignId}/send`, stores: 'campaign_batches' }),
  'a test email': () => ({
    path: `/campaigns/${ids.campaignId}/send-test`,
    body: { email: freshEmail() },
    stores: 'mails',
  }),
}

/** Holds the tasks of threads until `release`. */
function holdThreads() {
  const tasks: (() => void)[] = []
  const posting = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, task: unknown) {
    tasks.push(() => this.postMessage(task))
  })
  const release = () => {
    posting.mockRestore()
    for (const start of tasks.splice(0)) start()
  }
  onTestFinished(release)
  return { tasks, release }
}

test.each(Object.entries(posts))('%s waits without a connection, and is stored once', async (what, prepare) => {
  const { path, body, stores } = prepare()
  const post = () => api.call('POST', path, { key: workspace.key, body, headers: { 'idempotency-key': what } })
  const count = async () =>
    stores === undefined ? 0 : Number((await api.query(`select count(*) from ${stores}`))[0]?.['count'])
  const before = await count()
  const threads = holdThreads()
  const first = post()
  await waitUntil(() => threads.tasks.length > 0, { describe: 'the thread gets a task' })
  const idle = await api.query(
    `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
  )
  expect(idle).toEqual([])
  const second = post()
  threads.release()
  const responses = await Promise.all([first, second])
  const again = await post()
  expect(again.status).toBeLessThan(300)
  expect(again.headers['idempotent-replayed']).toBe('true')
  const refused = responses.filter(({ text }) => text !== again.text)
  expect(refused.length).toBeLessThan(2)
  for (const response of refused) expectError(response, 409, 'A request with this Idempotency-Key is still running')
  expect((await count()) - before).toBe(stores === undefined ? 0 : 1)
})

test('the receipt of an erasure waits without a connection until others have ended', async () => {
  const requests = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const workspace = await api.signUp()
      const { id } = await api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail() })
      await eraseTestContact(api, workspace, id)
      const request = { key: workspace.key, body: {}, headers: { 'idempotency-key': 'receipt' } }
      return () => api.call('POST', `/contacts/${id}/erasure-receipt`, request)
    }),
  )
  let asked = 0
  const count = () => void (asked += 1)
  turns.subscribe(count)
  onTestFinished(() => turns.unsubscribe(count))
  const lock = 'lock table webhooks in access exclusive mode'
  const slow = await openTransaction(api.database.db, (db) => db.execute(lock))
  const others = requests.slice(1).map((post) => post())
  await waitUntilBlocked(api.database.db, 2)
  const last = requests[0]?.()
  await waitUntil(() => asked === 3, { describe: 'all wait for their turn' })
  const idle = await api.query(
    `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
      and query not like 'lock table%'`,
  )
  await slow.commit()
  expect(idle).toEqual([])
  await Promise.all(others)
  expect(await last).toMatchObject({ status: 200 })
})
