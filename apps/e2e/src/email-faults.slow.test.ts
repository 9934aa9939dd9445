/** Emails to one person while their workers are killed. */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseBackends, type Stack, startStack } from './stack.ts'

const total = countRuns({ gate: 250, full: 20_000 })
const kills = countRuns({ gate: 2, full: 10 })
/** A group of each job of one worker. */
const maxInFlight = 10 * 5
const batchSize = 50
const slowly = { delayMs: 20 }
const timeoutMs = countRuns({ gate: 180_000, full: 600_000 })

// At the gate, the tests of campaigns kill workers with the queues in Redis.
describe.each(chooseBackends({ gate: 'postgres' }))('with the queues in %s', (backend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack(backend, { QUOTA_EMAILS: '0', QUOTA_EMAILS_PENDING: '0' })
    stack.inbox.decide(() => slowly)
  })
  afterAll(() => stack.close())

  test('kill -9 of the worker: no email is lost or sent twice, and none is left', { timeout: timeoutMs }, async () => {
    const { inbox } = stack
    const { key, workspaceId } = await stack.api.createWorkspace()
    const templateId = await createTemplate(key)
    const addressees = () => inbox.mails.filter(({ subject }) => subject === 'Welcome').map(({ to }) => String(to[0]))
    const accepted = acceptAll(key, templateId)
    for (let kill = 1; kill <= kills; kill++) {
      const reached = Math.floor((total * kill) / (kills + 1))
      await waitUntil(() => addressees().length >= reached, { describe: `${reached} are sent`, timeoutMs })
      const worker = stack.workers.at(-1)
      // While it waits for the answer to an email.
      inbox.decide(() => {
        worker?.kill('SIGKILL')
        return slowly
      })
      await worker?.exited
      inbox.decide(() => slowly)
      await stack.startWorker()
    }
    await accepted
    await waitUntil(async () => (await countByStatus(workspaceId)).pending === 0, { describe: 'all ended', timeoutMs })

    const counts = await countByStatus(workspaceId)
    const arrived = addressees()
    expect(new Set(arrived).size).toBe(arrived.length)
    expect(counts).toMatchObject({ all: total, sent: total - counts.interrupted, sealed: 0, work: 0 })
    expect(counts.interrupted).toBeGreaterThan(0)
    expect(counts.interrupted).toBeLessThanOrEqual(kills * maxInFlight)
    // Every SENT email arrived. An INTERRUPTED one may have arrived.
    const sent = await listSent(workspaceId)
    const known = new Set(arrived)
    expect(sent.filter((address) => !known.has(address))).toEqual([])
    expect(arrived.length).toBeLessThanOrEqual(counts.sent + counts.interrupted)
  })

  async function createTemplate(key: string): Promise<string> {
    const body = { name: 'Welcome', subject: 'Welcome', text: 'Hello {{ data.name }}', ground: 'CONTRACT' }
    const variables = [{ name: 'name', type: 'TEXT', example: 'Ada' }]
    const created = await stack.api.call<{ id: string }>('POST', '/templates', { key, body: { ...body, variables } })
    return created.body.id
  }

  /** The worker sends the first ones while the last ones are accepted. */
  async function acceptAll(key: string, templateId: string): Promise<void> {
    for (let first = 0; first < total; first += batchSize) {
      const emails = Array.from({ length: batchSize }, (_, index) => {
        const name = `person-${first + index}`
        return { templateId, to: { email: `${name}@example.com` }, data: { name } }
      })
      const { status, body } = await stack.api.call<{ results: { status: string }[] }>('POST', '/emails/batch', {
        key,
        body: { emails },
      })
      expect([status, body.results.filter((one) => one.status !== 'ACCEPTED')]).toEqual([200, []])
    }
  }

  async function countByStatus(workspaceId: string) {
    const { rows } = await stack.database.pool.query<
      Record<'all' | 'sent' | 'interrupted' | 'pending' | 'sealed' | 'work', number>
    >(
      `select count(*)::int as "all",
         count(*) filter (where status = 'SENT')::int as sent,
         count(*) filter (where status = 'INTERRUPTED')::int as interrupted,
         count(*) filter (where status = 'PENDING')::int as pending,
         count(sealed_data)::int as sealed,
         (select count(*) from work where workspace_id = $1 and kind = 'EMAIL')::int as work
       from emails where workspace_id = $1`,
      [uuidOf(Id('wsp').parse(workspaceId))],
    )
    const [counts] = rows
    if (!counts) throw new Error('PostgreSQL returned no row')
    return counts
  }

  async function listSent(workspaceId: string): Promise<string[]> {
    const { rows } = await stack.database.pool.query<{ email: string }>(
      `select c.email from emails m join contacts c on c.workspace_id = m.workspace_id and c.id = m.contact_id
       where m.workspace_id = $1 and m.status = 'SENT'`,
      [uuidOf(Id('wsp').parse(workspaceId))],
    )
    return rows.map(({ email }) => email)
  }
})
