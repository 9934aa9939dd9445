/** Opt-outs while mails wait for the mail server, or for their worker. */
import { setTimeout as pause } from 'node:timers/promises'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addConfirmedSubscribers } from './campaign-recipients.ts'
import { chooseBackends, type Stack, startStack } from './stack.ts'

/** How long the mail server takes for each mail. */
const conversationMs = countRuns({ gate: 2_000, full: 5_000 })
const frozenMs = countRuns({ gate: 2_000, full: 60_000 })
/** The worker has as many connections to the mail server. */
const mailsAtOnce = 20

interface Newsletters {
  /** Those who got no mail so far. */
  listWaiting: () => string[]
  optOut: (emails: readonly string[]) => Promise<void>
  waitForEnd: () => Promise<void>
}

/** Sends campaigns to 20 recipients each. */
async function sendNewsletters({ api, database, inbox }: Stack, count: number): Promise<Newsletters> {
  const { key, workspaceId } = await api.createWorkspace()
  const create = async (path: string, body: object) =>
    (await api.call<{ id: string }>('POST', path, { key, body })).body.id
  const campaigns: string[] = []
  for (let number = 0; number < count; number++) {
    const listId = await create('/lists', { name: 'News' })
    await addConfirmedSubscribers(database, { workspaceId, listId, first: number * mailsAtOnce }, mailsAtOnce)
    campaigns.push(await create('/campaigns', { name: 'News', subject: 'News', listId }))
  }
  const recipients = Array.from({ length: count * mailsAtOnce }, (_, number) => `person${number}@example.com`)
  const before = inbox.mails.length
  for (const id of campaigns) await api.call('POST', `/campaigns/${id}/send`, { key })
  const isSent = async (id: string) =>
    (await api.call<{ status: string }>('GET', `/campaigns/${id}`, { key })).body.status === 'SENT'
  return {
    listWaiting() {
      const mailed = new Set(inbox.mails.slice(before).flatMap(({ to }) => to))
      return recipients.filter((email) => !mailed.has(email))
    },
    async optOut(emails) {
      for (const email of emails) {
        const body = { email, reason: 'OPTED_OUT' }
        expect((await api.call('POST', '/suppressions', { key, body })).status).toBeOneOf([200, 201])
      }
    },
    async waitForEnd() {
      const areSent = async () => (await Promise.all(campaigns.map(isSent))).every(Boolean)
      await waitUntil(areSent, { describe: 'the campaigns are SENT', timeoutMs: 90_000 })
    },
  }
}

describe.each(chooseBackends({ gate: 'postgres' }))('with the queues in %s', (backend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack(backend)
    stack.inbox.decide(() => ({ delayMs: conversationMs }))
  })
  afterAll(() => stack.close())

  test('no mail that waits for a slow mail server goes to a person who has opted out', async () => {
    const { inbox } = stack
    const { listWaiting, optOut, waitForEnd } = await sendNewsletters(stack, 5)
    const optedOut: string[] = []
    for (let received = mailsAtOnce; listWaiting().length > mailsAtOnce; received = inbox.mails.length + 1) {
      await inbox.waitFor(received, 60_000)
      await pause(conversationMs / 10)
      const before = inbox.mails.length
      // Of every campaign, also of those whose mails wait for a connection.
      const leaving = listWaiting().filter((_, index) => index % 10 === 5)
      await optOut(leaving)
      // On a busy machine, the next mails may have been asked about meanwhile.
      if (inbox.mails.length === before) optedOut.push(...leaving)
    }
    await waitForEnd()
    expect(optedOut.length).toBeGreaterThan(0)
    expect(listWaiting()).toEqual(expect.arrayContaining(optedOut))
  })

  test.each([
    ['its own claims', 0],
    ['claims that another worker has recovered', 1],
  ])('a worker that was frozen with %s mails no one who opted out meanwhile', async (_, others) => {
    const { workers, database } = stack
    const [frozen] = workers
    const { listWaiting, optOut, waitForEnd } = await sendNewsletters(stack, 4)
    const areFirstMailed = () => listWaiting().length === 3 * mailsAtOnce
    await waitUntil(areFirstMailed, { describe: 'the first mails have come', timeoutMs: 60_000 })
    frozen?.kill('SIGSTOP')
    const waiting = listWaiting()
    try {
      await optOut(waiting)
      await pause(frozenMs)
      for (let count = 0; count < others; count++) await stack.startWorker()
      const isAlone = async () => (await database.pool.query('select from workers')).rowCount === 1
      await waitUntil(isAlone, { describe: 'one worker is registered', timeoutMs: 60_000 })
    } finally {
      frozen?.kill('SIGCONT')
    }
    await waitForEnd()
    await pause(conversationMs)
    expect(listWaiting()).toEqual(waiting)
    expect(frozen?.isRunning).toBe(true)
  })
})
