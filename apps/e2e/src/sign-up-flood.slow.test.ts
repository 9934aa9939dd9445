/** A flood of sign-ups in real processes: two APIs behind a trusted proxy, and two workers, one of which is killed. */
import { waitUntilBlocked, withAdminClient } from '@rapport/testing/postgres/database.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, expect, test } from 'vitest'
import { chooseBackends, type Stack, startStack } from './stack.ts'

const visitors = countRuns({ gate: 50, full: 5_000 })
const budget = countRuns({ gate: 10, full: 100 })
const kills = countRuns({ gate: 1, full: 3 })
/** How many workers run at once in the test that kills all of them. */
const killedAtOnce = countRuns({ gate: 1, full: 2 })
const stacks: Stack[] = []
afterAll(() => Promise.all(stacks.map((stack) => stack.close())))

test.each(chooseBackends({ gate: 'postgres' }))(
  `a flood of ${visitors} gets ${budget} mails, all 202, all stored: queues in %s`,
  { timeout: 600_000 },
  async (backend) => {
    const stack = await startStack(backend, {
      QUOTA_CONFIRMATIONS: String(budget),
      METRICS_TOKEN: 'a-token-of-tests-only',
    })
    stacks.push(stack)
    const other = await stack.startAnotherApi()
    await stack.startWorker()
    const { key, listId, workspaceId } = await prepare(stack)
    const statuses = new Map<number, number>()
    const numbers = Array.from({ length: visitors }, (_value, index) => index)
    const flood = Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
          const body = { email: `victim-${n}@fresh-${n}.example` }
          const api = n % 2 === 0 ? stack.api : other
          const { status } = await api.call('POST', `/public/lists/${listId}/subscribe`, { body })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }),
    )
    for (let kill = 0; kill < kills; kill += 1) {
      await waitUntil(() => stack.inbox.mails.length > kill * 2, { describe: 'mails arrive' })
      const [worker] = stack.workers.slice(-2)
      worker?.kill('SIGKILL')
      await worker?.exited
      await stack.startWorker()
    }
    await flood
    expect([...statuses]).toEqual([[202, visitors]])
    const count = async (status: string) =>
      (await stack.database.pool.query('select from visitor_mails where status = $1', [status])).rows.length
    await waitUntil(
      async () =>
        (await count('WAITING')) === 0 && (await stack.database.pool.query('select from work')).rows.length === 0,
      { describe: 'all is decided', timeoutMs: 60_000 },
    )
    const confirmations = stack.inbox.mails.filter(({ to }) => to.some((address) => address.startsWith('victim-')))
    expect(confirmations.length).toBeLessThanOrEqual(budget)
    const { body } = await stack.api.call<{ withheldConfirmations: number }>('GET', `/lists/${listId}`, { key })
    expect(body.withheldConfirmations).toBe(await count('WITHHELD'))
    const stored = await stack.database.pool.query(`select from subscriptions where status = 'PENDING'`)
    expect(stored.rows).toHaveLength(visitors)
    const metrics = await fetch(`${stack.env['PUBLIC_URL']}/metrics`, {
      headers: { authorization: 'Bearer a-token-of-tests-only' },
    })
    expect(await metrics.text()).toContain(`rapport_withheld_mails ${await count('WITHHELD')}`)
    const notices = stack.inbox.mails.filter(({ subject }) => subject === 'Confirmation emails of Engines are withheld')
    expect(notices).toHaveLength(1)
    await walkRunbook(stack, { key, listId, workspaceId, mails: confirmations.length })
  },
)

interface Flooded {
  key: string
  listId: string
  workspaceId: string
  /** How many addresses of the flood were mailed. */
  mails: number
}

/** RapportMailsWithheld in docs/alerts.md, step by step. */
async function walkRunbook(stack: Stack, { key, listId, workspaceId, mails }: Flooded): Promise<void> {
  const { api } = stack
  const rapport = (...parameters: string[]) =>
    runProcess({ script: 'apps/cli/src/main.ts', parameters, env: stack.env })
  const readList = async () =>
    (await api.call<{ withheldConfirmations: number; confirmedCount: number }>('GET', `/lists/${listId}`, { key })).body
  const countMails = () =>
    stack.inbox.mails.filter(({ to }) => to.some((address) => address.startsWith('victim-'))).length
  const { withheldConfirmations: waiting } = await readList()

  // 1 and 2: where, and who.
  const { stdout } = await rapport('doctor')
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(`${workspaceId} "Engines": [\\d,]+ emails that visitors asked for wait, since 20`),
  )
  expect(stack.workers.map((worker) => worker.stdout()).join('')).toContain('mails of visitors withheld')
  const page = await api.call<{ data: { contactId: string }[] }>('GET', `/lists/${listId}/subscribers?withheld=true`, {
    key,
  })
  const [real = '', other = ''] = page.body.data.map(({ contactId }) => contactId)
  expect((await api.call('GET', `/contacts/${real}`, { key })).status).toBe(200)
  expect(await readList()).toMatchObject({ confirmedCount: 0 })

  // 3: a larger budget, for a while.
  expect(await rapport('workspace', 'set-quota', workspaceId, `confirmations=${budget + 2}`)).toMatchObject({ code: 0 })
  await waitUntil(() => countMails() >= mails + 2, { describe: 'the oldest are mailed' })
  expect(await rapport('workspace', 'set-quota', workspaceId, 'confirmations=default')).toMatchObject({ code: 0 })
  expect(await readList()).toMatchObject({ withheldConfirmations: waiting - 2 })

  // 4: the list is closed, a real one is asked, and another one taken off.
  expect((await api.call('PATCH', `/lists/${listId}`, { key, body: { publicSignup: 'CLOSED' } })).status).toBe(200)
  const visitor = { body: { email: 'victim-0@late.example' } }
  expect((await api.call('POST', `/public/lists/${listId}/subscribe`, visitor)).status).toBe(404)
  const asked = await api.call('POST', `/lists/${listId}/subscribers`, { key, body: { contactId: real } })
  expect(asked.status).toBe(200)
  await waitUntil(() => countMails() >= mails + 3, { describe: 'the real one is asked at once' })
  expect((await api.call('DELETE', `/lists/${listId}/subscribers/${other}`, { key })).status).toBe(204)
  expect(await readList()).toMatchObject({ withheldConfirmations: waiting - 4 })
}

test('workers killed between count and mail leave the budget exact', { timeout: 300_000 }, async () => {
  const stack = await startStack('postgres', { QUOTA_CONFIRMATIONS: '10' })
  stacks.push(stack)
  const { db, pool } = stack.database
  const startWorkers = (count: number) => Promise.all(Array.from({ length: count }, () => stack.startWorker()))
  await startWorkers(killedAtOnce - 1)
  const { listId } = await prepare(stack)
  const countReleases = async () => {
    const { rows } = await pool.query<{ sum: number }>(
      'select coalesce(sum(releases), 0)::int as sum from visitor_mails',
    )
    return rows[0]?.sum
  }
  const countWork = async () => (await pool.query('select from work')).rows.length
  const confirmations = () => stack.inbox.mails.filter(({ to }) => to.some((address) => address.startsWith('victim-')))
  const killWorkers = async () => {
    const running = stack.workers.filter(({ isRunning }) => isRunning)
    for (const worker of running) worker.kill('SIGKILL')
    await Promise.all(running.map(({ exited }) => exited))
  }
  await waitUntil(async () => (await countWork()) === 0, { describe: 'the mail to the owner is sent' })

  // Counted, but the work cannot be written: both come with one commit.
  await withAdminClient(stack.database.url, async (blocker) => {
    // Not `begin`, by which the tests notice requests within transactions of the application.
    await blocker.query('start transaction; lock table work in share mode')
    for (let n = 0; n < 30; n += 1) {
      const body = { email: `victim-${n}@example.com` }
      expect((await stack.api.call('POST', `/public/lists/${listId}/subscribe`, { body })).status).toBe(202)
    }
    await waitUntilBlocked(db)
    await killWorkers()
    await blocker.query('commit')
  })
  await waitUntil(async () => (await countWorkerSessions(pool)) === 0, { describe: 'the transactions of the dead end' })
  expect([await countReleases(), await countWork(), confirmations().length]).toEqual([0, 0, 0])

  // Counted and received, but no outcome is recorded.
  stack.inbox.decide(() => 'hang after data')
  await startWorkers(killedAtOnce)
  await waitUntil(() => confirmations().length >= 3, { describe: 'mails arrive' })
  await killWorkers()
  const received = confirmations().length
  stack.inbox.decide(() => 'accept')
  await startWorkers(killedAtOnce)
  await waitUntil(async () => (await countReleases()) === 10 && (await countWork()) === 0, {
    describe: 'the budget is used up',
    timeoutMs: 60_000,
  })
  expect(confirmations().length).toBeGreaterThanOrEqual(received)
  expect(confirmations().length).toBeLessThanOrEqual(10)
})

async function countWorkerSessions(pool: Stack['database']['pool']): Promise<number> {
  const ofWorkers = `datname = current_database() and application_name like 'rapport worker%'`
  return (await pool.query(`select from pg_stat_activity where ${ofWorkers}`)).rows.length
}

async function prepare({ api }: Stack) {
  const email = 'owner@example.com'
  const signUp = await api.call<{ token: string; workspace: { id: string } }>('POST', '/auth/signup', {
    body: { email, password: 'a long sentence that is secret', name: 'Ada', workspaceName: 'Engines' },
  })
  const key = signUp.body.token
  const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'News' } })
  return { key, listId: list.body.id, workspaceId: signUp.body.workspace.id }
}
