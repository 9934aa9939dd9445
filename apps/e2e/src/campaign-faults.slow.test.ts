import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addConfirmedSubscribers, type RecipientCounts, readRecipientCounts } from './campaign-recipients.ts'
import { chooseBackends, type Stack, startStack } from './stack.ts'

const recipients = countRuns({ gate: 300, full: 500 })
/** One worker sends four batches concurrently, with groups of twenty mails. */
const maxInFlight = 80

// At the gate, the tests of emails to one person kill workers with the queues in PostgreSQL.
describe.each(chooseBackends({ gate: 'redis' }))('with the queues in %s', (backend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack(backend)
    // Slow enough that a fault occurs while the campaign is being sent.
    stack.inbox.decide(() => ({ delayMs: 60 }))
  })
  afterAll(() => stack.close())

  test('kill -9 of the worker: each recipient gets at most one mail and has an outcome', async () => {
    const campaign = await startCampaign()
    await stack.inbox.waitFor(100, 30_000)
    stack.workers.at(-1)?.kill('SIGKILL')
    await stack.startWorker()
    const counts = await waitForEnd(campaign)

    const addressees = campaign.mails().map((mail) => mail.to[0])
    expect(new Set(addressees).size).toBe(addressees.length)
    expect(counts).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
    expect(counts.interrupted).toBeGreaterThan(0)
    expect(counts.interrupted).toBeLessThanOrEqual(maxInFlight)
    // Every SENT recipient got a mail. An INTERRUPTED recipient may have got one.
    expect(addressees.length).toBeGreaterThanOrEqual(counts.sent)
    expect(addressees.length).toBeLessThanOrEqual(counts.sent + counts.interrupted)
  })

  test('SIGTERM to the worker: it exits with 0, and the next one continues the campaign', async () => {
    const campaign = await startCampaign()
    await waitUntil(() => campaign.mails().length >= 100, { describe: 'some are sent', timeoutMs: 30_000 })
    const first = stack.workers.at(-1)
    first?.kill('SIGTERM')
    expect(await first?.exited).toEqual({ code: 0, signal: null })
    expect(campaign.mails().length).toBeLessThan(recipients)
    await stack.startWorker()
    const counts = await waitForEnd(campaign)

    expect(counts).toEqual({ queued: recipients, sent: recipients, failed: 0, skipped: 0, interrupted: 0, pending: 0 })
    const addressees = campaign.mails().map((mail) => mail.to[0])
    expect(new Set(addressees).size).toBe(recipients)
    expect(addressees).toHaveLength(recipients)
  })

  test('kill -9 during pause, resume and retry: only a retry may send a second mail', async () => {
    const campaign = await startCampaign()
    await waitUntil(() => campaign.mails().length >= 60, { describe: 'some are sent', timeoutMs: 30_000 })
    const [paused] = await Promise.all([act(campaign, 'pause'), killWorker()])
    expect(paused.status).toBe(200)
    expect((await act(campaign, 'resume')).status).toBe(200)
    const first = await waitForEnd(campaign)
    const addressees = () => campaign.mails().map((mail) => String(mail.to[0]))
    const before = addressees()
    expect(new Set(before).size).toBe(before.length)
    expect(first).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
    expect(first.interrupted).toBeGreaterThan(0)

    const interrupted = await readAddresses(campaign, 'INTERRUPTED')
    expect((await act(campaign, 'retry', { includeInterrupted: true })).body).toEqual({ queued: first.interrupted })
    await waitUntil(() => addressees().length > before.length, { describe: 'the retry has begun', timeoutMs: 30_000 })
    await killWorker()
    const second = await waitForEnd(campaign)
    const again = addressees().slice(before.length)
    expect(new Set(again).size).toBe(again.length)
    expect(again.filter((address) => !interrupted.includes(address))).toEqual([])
    expect(second).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
    // Every SENT recipient got a mail.
    const sent = await readAddresses(campaign, 'SENT')
    expect(sent.filter((address) => !addressees().includes(address))).toEqual([])
  })

  const act = (campaign: Campaign, action: string, body?: unknown) =>
    stack.api.call('POST', `/campaigns/${campaign.id}/${action}`, { key: campaign.key, body })

  async function killWorker() {
    stack.workers.at(-1)?.kill('SIGKILL')
    await stack.startWorker()
  }

  async function readAddresses({ id }: Campaign, status: string): Promise<string[]> {
    const { rows } = await stack.database.pool.query<{ email: string }>(
      `select c.email from campaign_recipients r
       join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
       where r.campaign_id = $1 and r.status = $2`,
      [uuidOf(Id('cmp').parse(id)), status],
    )
    return rows.map(({ email }) => email)
  }

  interface Campaign {
    id: string
    key: string
    mails(): { to: readonly string[] }[]
  }

  async function startCampaign(): Promise<Campaign> {
    const { api, inbox, database } = stack
    const { key, workspaceId } = await api.createWorkspace()
    const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Everyone' } })
    await addConfirmedSubscribers(database, { workspaceId, listId: list.body.id }, recipients)
    const before = inbox.mails.length
    const campaign = await api.call<{ id: string }>('POST', '/campaigns', {
      key,
      body: { name: 'News', subject: 'News', listId: list.body.id },
    })
    const sent = await api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
    expect(sent.body).toEqual({ queued: recipients, unseen: 0 })
    return {
      id: campaign.body.id,
      key,
      mails: () => inbox.mails.slice(before).filter(({ subject }) => subject === 'News'),
    }
  }

  async function waitForEnd({ id, key }: Campaign): Promise<RecipientCounts> {
    await waitUntil(
      async () => {
        const counts = await readRecipientCounts(stack.database, id)
        expect(counts.pending).toBeGreaterThanOrEqual(0)
        const { body } = await stack.api.call<{ status: string }>('GET', `/campaigns/${id}`, { key })
        return body.status === 'SENT'
      },
      { describe: 'the campaign is SENT', timeoutMs: 90_000 },
    )
    return readRecipientCounts(stack.database, id)
  }
})
