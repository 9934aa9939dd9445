import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judgeMails, sendFromOwnDomain } from './sending-domain.ts'
import { chooseBackends, type Stack, startStack } from './stack.ts'

interface Identified {
  id: string
}
interface Campaign extends Identified {
  status: string
  queued: number
  completedAt: string | null
}

const domain = 'engines.example'
const dns = useForFile(() => startNameServer({ denyUnknown: true }))

// At the gate, newsletter-browser and webhook-journey do the same with the queues in PostgreSQL.
describe.each(chooseBackends({ gate: 'redis' }))('with the queues in %s', (backend) => {
  let stack: Stack
  let key: string
  let owner: string
  beforeAll(async () => {
    stack = await startStack(backend, { DNS_SERVER: dns.address }, { worker: 'real' })
    ;({ key, email: owner } = await stack.api.createWorkspace())
    await sendFromOwnDomain({ api: stack.api, key, dns }, domain)
  })
  afterAll(() => stack.close())

  test('a webhook receives a new contact once, with a valid Standard Webhooks signature', async () => {
    const { api } = stack
    const receiver = await startHttpReceiver()
    const webhook = await api.call<Identified & { secret: string }>('POST', '/webhooks', {
      key,
      body: { url: `${receiver.url}/hook`, eventTypes: ['contact.created'] },
    })
    expect(webhook.status).toBe(201)
    const again = await api.call<object>('GET', `/webhooks/${webhook.body.id}`, { key })
    expect(again.body).not.toHaveProperty('secret')

    const contact = await api.call<Identified>('POST', '/contacts', { key, body: { email: 'ada@example.com' } })
    expect(contact.status).toBe(201)
    const [request] = await receiver.waitFor(1)
    const body = request?.body.toString() ?? ''
    const headers = Object.fromEntries(
      Object.entries(request?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    const verifier = new Webhook(webhook.body.secret)
    expect(verifier.verify(body, headers)).toMatchObject({ type: 'contact.created', data: contact.body })
    expect(() => verifier.verify(body.replace('ada', 'eve'), headers)).toThrow('No matching signature')
    await waitUntil(async () => (await countDeliveries('SUCCEEDED')) === 1, { describe: 'the delivery has succeeded' })
    expect(receiver.requests).toHaveLength(1)
    await receiver.close()
  })

  test('a confirmed subscriber gets a newsletter, and none after unsubscribing', async () => {
    const { api, inbox } = stack
    const list = await api.call<Identified>('POST', '/lists', { key, body: { name: 'Monthly newsletter' } })
    const subscribed = await api.call('POST', `/public/lists/${list.body.id}/subscribe`, {
      body: { email: 'Grace@example.com', firstName: 'Grace' },
    })
    expect([subscribed.status, subscribed.body]).toEqual([202, { success: true }])

    const confirmation = await inbox.waitFor((mail) => mail.to.includes('Grace@example.com'))
    const confirmUrl = linkIn(confirmation.text, '/public/subscriptions/confirm')
    const page = await api.call<string>('GET', confirmUrl)
    expect(page.body).toContain('Confirm subscription')
    expect(await statusOf('Grace@example.com')).toBe('PENDING')
    expect((await api.call<string>('POST', confirmUrl)).body).toContain('You are subscribed')
    expect(await statusOf('Grace@example.com')).toBe('SUBSCRIBED')

    const campaign = await createCampaign(list.body.id, 'News for {{ contact.firstName }}')
    const changed = await api.call('PATCH', `/campaigns/${campaign.id}`, {
      key,
      body: { html: '<p>Dear {{ contact.firstName }}</p>' },
    })
    expect([changed.status, changed.body]).toEqual([204, ''])
    const sends = await Promise.all([1, 2].map(() => api.call('POST', `/campaigns/${campaign.id}/send`, { key })))
    expect(new Set(sends.map((send) => send.status))).toEqual(new Set([202, 409]))
    expect(sends.find((send) => send.status === 202)?.body).toEqual({ queued: 1, unseen: 0 })

    const newsletter = await inbox.waitFor((mail) => mail.subject === 'News for Grace')
    expect(newsletter.html).toContain('Dear Grace')
    expect(newsletter.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')
    const sent = await waitUntil(() => readSent(campaign.id), { describe: 'the campaign is SENT' })
    expect(sent).toMatchObject({ status: 'SENT', queued: 1 })

    const unsubscribeUrl = /<(.+)>/.exec(newsletter.headers['list-unsubscribe'] ?? '')?.[1] ?? ''
    const unsubscribed = await fetch(unsubscribeUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
      redirect: 'manual',
    })
    expect(unsubscribed.status).toBe(200)
    expect(await statusOf('Grace@example.com')).toBe('UNSUBSCRIBED')
    const next = await createCampaign(list.body.id, 'More news')
    const refused = await api.call('POST', `/campaigns/${next.id}/send`, { key })
    expect(refused.body).toEqual({
      statusCode: 400,
      message: 'List has no subscribed recipients',
      error: 'Bad Request',
    })
  })

  test('a test mail is sent to the given address and marked as a test', async () => {
    const { api, inbox } = stack
    const list = await api.call<Identified>('POST', '/lists', { key, body: { name: 'Another newsletter' } })
    const campaign = await createCampaign(list.body.id, 'A draft')
    const sent = await api.call('POST', `/campaigns/${campaign.id}/send-test`, {
      key,
      body: { email: 'editor@example.com' },
    })
    expect([sent.status, sent.body]).toEqual([202, { queued: 1 }])
    const copy = await inbox.waitFor((mail) => mail.to.includes('editor@example.com'))
    expect(copy.subject).toBe('[Test] A draft')
  })

  test('every mail passes DKIM and DMARC under the domain of the workspace', async () => {
    // What signing up sends is from the operator, before the workspace has a domain.
    const verdicts = await judgeMails(
      stack.inbox.mails.filter(({ to }) => !to.includes(owner)),
      dns,
    )
    const subjects = verdicts.map(({ subject }) => subject)
    expect(subjects).toEqual(expect.arrayContaining(['News for Grace', '[Test] A draft']))
    const passed = { dkim: 'pass', dmarc: 'pass', domain }
    expect(verdicts).toEqual(subjects.map((subject) => ({ subject, ...passed })))
  })

  async function createCampaign(listId: string, subject: string): Promise<Campaign> {
    const created = await stack.api.call<Campaign>('POST', '/campaigns', {
      key,
      body: { name: 'News', subject, listId },
    })
    expect(created.status).toBe(201)
    return created.body
  }

  async function readSent(id: string) {
    const { body } = await stack.api.call<Campaign>('GET', `/campaigns/${id}`, { key })
    return body.completedAt === null ? undefined : body
  }

  async function statusOf(email: string) {
    const found = await stack.api.call<{ data: { emailSubscribedStatus: string }[] }>(
      'GET',
      `/contacts?email=${encodeURIComponent(email)}`,
      { key },
    )
    return found.body.data[0]?.emailSubscribedStatus
  }

  async function countDeliveries(status: string) {
    const result = await stack.database.pool.query('select from deliveries where status = $1', [status])
    return result.rowCount
  }
})

function linkIn(text: string, path: string): string {
  const link = text.split(/\s/).find((word) => word.includes(path))
  if (!link) throw new Error(`No link to ${path} in: ${text}`)
  return link
}
