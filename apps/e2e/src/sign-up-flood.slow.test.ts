/** A flood of sign-ups in real processes: two APIs behind a trusted proxy, two workers, one of which is killed again and again. */
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, expect, test } from 'vitest'
import { chooseBackends, type Stack, startStack } from './stack.ts'

const visitors = countRuns({ gate: 50, full: 5_000 })
const budget = countRuns({ gate: 10, full: 100 })
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
    const { key, listId } = await prepare(stack)
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
    for (let kill = 0; kill < 3; kill += 1) {
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
  },
)

async function prepare({ api }: Stack) {
  const email = 'owner@example.com'
  const signUp = await api.call<{ token: string }>('POST', '/auth/signup', {
    body: { email, password: 'a long sentence that is secret', name: 'Ada', workspaceName: 'Engines' },
  })
  const key = signUp.body.token
  const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'News' } })
  return { key, listId: list.body.id }
}
