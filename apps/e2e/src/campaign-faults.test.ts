import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addConfirmedSubscribers, type RecipientCounts, readRecipientCounts } from './campaign-recipients.ts'
import { queueBackends, type Stack, startStack } from './stack.ts'

const recipients = 500
/** Four batches at once in one worker, twenty mails in hand in each. */
const mostInHand = 80

describe.each(queueBackends)('with the queues in %s', (backend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack(backend)
    // Slow enough that a fault finds the campaign in its middle.
    stack.inbox.decide(() => ({ delayMs: 40 }))
  })
  afterAll(() => stack.close())

  test('kill -9 of the worker amid a campaign: nobody has two mails, and everyone is accounted for', async () => {
    const campaign = await startCampaign()
    await stack.inbox.waitFor(100, 30_000)
    stack.workers.at(-1)?.kill('SIGKILL')
    await stack.startWorker()
    const ledger = await waitForEnd(campaign)

    const addressees = campaign.mails().map((mail) => mail.to[0])
    expect(new Set(addressees).size).toBe(addressees.length)
    expect(ledger).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
    expect(ledger.interrupted).toBeGreaterThan(0)
    expect(ledger.interrupted).toBeLessThanOrEqual(mostInHand)
    // Who is SENT has their mail; of who is INTERRUPTED nobody knows, and nobody is asked twice.
    expect(addressees.length).toBeGreaterThanOrEqual(ledger.sent)
    expect(addressees.length).toBeLessThanOrEqual(ledger.sent + ledger.interrupted)
  })

  test('SIGTERM to the worker amid a campaign: it ends well, interrupts nobody, and another goes on', async () => {
    const campaign = await startCampaign()
    await waitUntil(() => campaign.mails().length >= 100, { describe: 'a fifth is sent', timeoutMs: 30_000 })
    const first = stack.workers.at(-1)
    first?.kill('SIGTERM')
    expect(await first?.exited).toEqual({ code: 0, signal: null })
    expect(campaign.mails().length).toBeLessThan(recipients)
    await stack.startWorker()
    const ledger = await waitForEnd(campaign)

    expect(ledger).toEqual({ queued: recipients, sent: recipients, failed: 0, skipped: 0, interrupted: 0, pending: 0 })
    const addressees = campaign.mails().map((mail) => mail.to[0])
    expect(new Set(addressees).size).toBe(recipients)
    expect(addressees).toHaveLength(recipients)
  })

  test('kill -9 amid pauses, resumes and a retry: nobody has two mails but who was INTERRUPTED and asked for again', async () => {
    const campaign = await startCampaign()
    await waitUntil(() => campaign.mails().length >= 60, { describe: 'some are sent', timeoutMs: 30_000 })
    const [paused] = await Promise.all([take(campaign, 'pause'), killWorker()])
    expect(paused.status).toBe(200)
    expect((await take(campaign, 'resume')).status).toBe(200)
    const first = await waitForEnd(campaign)
    const addressees = () => campaign.mails().map((mail) => String(mail.to[0]))
    const before = addressees()
    expect(new Set(before).size).toBe(before.length)
    expect(first).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
    expect(first.interrupted).toBeGreaterThan(0)

    const interrupted = await readAddresses(campaign, 'INTERRUPTED')
    expect((await take(campaign, 'retry', { includeInterrupted: true })).body).toEqual({ queued: first.interrupted })
    await waitUntil(() => addressees().length > before.length, { describe: 'the retry has begun', timeoutMs: 30_000 })
    await killWorker()
    const second = await waitForEnd(campaign)
    const again = addressees().slice(before.length)
    expect(new Set(again).size).toBe(again.length)
    expect(again.filter((address) => !interrupted.includes(address))).toEqual([])
    expect(second).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
    // Whoever is SENT by now has a mail.
    const sent = await readAddresses(campaign, 'SENT')
    expect(sent.filter((address) => !addressees().includes(address))).toEqual([])
  })

  const take = (campaign: Campaign, step: string, body?: unknown) =>
    stack.api.call('POST', `/campaigns/${campaign.id}/${step}`, { key: campaign.key, body })

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
    expect(sent.body).toEqual({ queued: recipients })
    return {
      id: campaign.body.id,
      key,
      mails: () => inbox.mails.slice(before).filter(({ subject }) => subject === 'News'),
    }
  }

  async function waitForEnd({ id, key }: Campaign): Promise<RecipientCounts> {
    await waitUntil(
      async () => {
        const ledger = await readRecipientCounts(stack.database, id)
        expect(ledger.pending).toBeGreaterThanOrEqual(0)
        const { body } = await stack.api.call<{ status: string }>('GET', `/campaigns/${id}`, { key })
        return body.status === 'SENT'
      },
      { describe: 'the campaign is SENT', timeoutMs: 90_000 },
    )
    return readRecipientCounts(stack.database, id)
  }
})
