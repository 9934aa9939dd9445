/** A receiver as a developer would write it, with the official Standard Webhooks library. */
import { idOf } from '@rapport/core/kernel/ids.ts'
import { type HttpReceiver, type ReceivedRequest, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseBackends, countOpenWork, type Stack, startStack } from './stack.ts'

interface Event {
  id: string
  type: string
  data: { id: string; email: string }
}
interface Page<Item> {
  data: Item[]
}
interface Delivery {
  id: string
  eventId: string
  status: string
}

describe.each(chooseBackends({ gate: 'postgres' }))('with the queues in %s, a receiver', (backend) => {
  let stack: Stack
  let key: string
  let webhook: { id: string; secret: string }
  let receiver: HttpReceiver
  let port: number
  /** The received events by id. */
  const received = new Map<string, Event>()
  let lastEventId = ''
  beforeAll(async () => {
    stack = await startStack(backend)
    ;({ key } = await stack.api.createWorkspace())
    receiver = await startHttpReceiver()
    ;({ port } = receiver)
    webhook = await call('POST', '/webhooks', { url: `${receiver.url}/hook`, eventTypes: ['contact.created'] })
  })
  afterAll(async () => {
    await receiver.close()
    await stack.close()
  })

  async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await stack.api.call<Body>(method, path, { key, body })
    if (response.status >= 300) {
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`)
    }
    return response.body
  }

  let contacts = 0
  async function createContact(): Promise<string> {
    contacts += 1
    return (await call<{ id: string }>('POST', '/contacts', { email: `person${contacts}@example.com` })).id
  }

  const headersOf = ({ headers }: ReceivedRequest) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

  function receiveEvent(request: ReceivedRequest | undefined, secret = webhook.secret): Event {
    if (!request) throw new Error('No request received')
    const event = new Verifier(secret).verify(request.body.toString(), headersOf(request)) as Event
    received.set(event.id, event)
    lastEventId = event.id
    return event
  }

  /** Waits for the request with the event of a contact. */
  const waitForRequest = (contact: string) => receiver.waitFor(({ body }) => body.includes(contact))

  test('verifies a request and rejects it with one bit flipped', async () => {
    const contact = await createContact()
    const request = await waitForRequest(contact)
    expect(receiveEvent(request)).toMatchObject({ type: 'contact.created', data: { id: contact } })
    for (let at = 0; at < request.body.length; at += 11) {
      const flipped = Buffer.from(request.body)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      expect(() => receiveEvent({ ...request, body: flipped })).toThrow('No matching signature')
    }
  })

  test('recognizes a redelivery by its webhook-id', async () => {
    const path = `/webhooks/${webhook.id}/deliveries`
    const [delivery] = (await call<Page<Delivery>>('GET', path)).data
    await waitUntil(async () => (await call<Delivery>('GET', `${path}/${delivery?.id}`)).status === 'SUCCEEDED', {
      describe: 'the delivery has succeeded',
    })
    const before = receiver.requests.length
    await call('POST', `${path}/${delivery?.id}/redeliver`)
    await receiver.waitFor(before + 1)
    expect(receiveEvent(receiver.requests[before]).id).toBe(delivery?.eventId)
    expect(received.size).toBe(1)
  })

  test('can verify with both secrets after a rotation', async () => {
    const rotated = await call<{ secret: string }>('POST', `/webhooks/${webhook.id}/rotate-secret`)
    expect(rotated.secret).not.toBe(webhook.secret)
    const request = await waitForRequest(await createContact())
    receiveEvent(request, webhook.secret)
    receiveEvent(request, rotated.secret)
    webhook.secret = rotated.secret
    receiveEvent(await waitForRequest(await createContact()))
  })

  test('that was down catches up with the event feed, in order, and with redelivery', async () => {
    await receiver.close()
    const missed: string[] = []
    for (let n = 0; n < 5; n++) missed.push(await createContact())
    await waitUntil(
      async () =>
        (await call<Page<Delivery>>('GET', `/webhooks/${webhook.id}/deliveries?status=FAILED`)).data.length === 5,
      { describe: 'five deliveries have failed' },
    )
    receiver = await startHttpReceiver(undefined, { port })
    const readMissed = async () =>
      (await call<Page<Event>>('GET', `/events?after=${lastEventId}&type=contact.created`)).data
    await expect.poll(async () => (await readMissed()).map((event) => event.data.id)).toEqual(missed)
    const data = await readMissed()
    expect(data.filter(({ id }) => received.has(id))).toEqual([])

    expect(await call('POST', `/webhooks/${webhook.id}/redeliver`)).toEqual({ queued: 5 })
    await receiver.waitFor(5)
    const delivered = receiver.requests.map((request) => receiveEvent(request).id)
    expect(delivered.toSorted()).toEqual(data.map(({ id }) => id).toSorted())
  })

  /** The events whose requests a worker has taken. Their outcomes are not recorded yet. */
  async function listTakenEvents(): Promise<string[]> {
    const { rows } = await stack.database.pool.query<{ id: string }>(`
      select event_id as id from work cross join unnest(in_flight) as taken (id)
      join deliveries d on d.workspace_id = work.workspace_id and d.id = taken.id`)
    return rows.map(({ id }) => idOf('evt', id))
  }

  test('gets no requests but those already taken once its webhook is disabled or deleted', async () => {
    for (const stopDeliveries of [
      () => call('PATCH', `/webhooks/${webhook.id}`, { enabled: false }),
      () => stack.api.call('DELETE', `/webhooks/${webhook.id}`, { key }),
    ]) {
      const stopping = new AbortController()
      const writing = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!stopping.signal.aborted) await createContact()
        }),
      )
      await receiver.waitFor(receiver.requests.length + 10)
      await stopDeliveries()
      const taken = await listTakenEvents()
      const countAtStop = receiver.requests.length
      await createContact()
      stopping.abort()
      await writing
      await waitUntil(async () => (await countOpenWork(stack)) === 0, {
        describe: 'all work is done',
        timeoutMs: 20_000,
      })
      const late = receiver.requests.slice(countAtStop).map(({ headers }) => headers['webhook-id'])
      expect(taken).toEqual(expect.arrayContaining(late))
      const open = await stack.database.pool.query(`select from deliveries where status = 'PENDING'`)
      expect(open.rowCount).toBe(0)
      await stack.api.call('PATCH', `/webhooks/${webhook.id}`, { key, body: { enabled: true } })
    }
  })
})
