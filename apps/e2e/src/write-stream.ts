/** A steady stream of writes that faults happen to, and the books that must balance afterwards. */
import { setTimeout as pause } from 'node:timers/promises'
import type { HttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect } from 'vitest'
import { countOpenWork, type Stack } from './stack.ts'

/** Slower than one worker delivers, so that what waits behind a fault is made good in the end. */
const pauseMs = 20

/** Writes contacts, some at a time, until it is stopped; what fails while something is down was not acknowledged. */
export function startWriting(stack: Stack, key: string) {
  const acknowledged: string[] = []
  const stopping = new AbortController()
  let written = 0
  async function write() {
    while (!stopping.signal.aborted) {
      written += 1
      const body = { email: `stream-${written}@example.com` }
      const answer = await stack.api.call<{ id: string }>('POST', '/contacts', { key, body }).catch(() => undefined)
      if (answer?.status === 201) acknowledged.push(answer.body.id)
      await pause(pauseMs)
    }
  }
  const writing = Promise.all([write(), write(), write()])
  return {
    acknowledged,
    async stop() {
      stopping.abort()
      await writing
    },
  }
}

/**
 * Every acknowledged write has one event, and a delivery for each of so many webhooks; each was received at most once,
 * exactly once if it SUCCEEDED, and none is left open. Answers how many ended otherwise, which only `others` may.
 */
export async function expectConsistentDeliveries(
  stack: Stack,
  {
    acknowledged,
    webhooks,
    receiver,
    others = ['INTERRUPTED'],
  }: { acknowledged: string[]; webhooks: number; receiver: HttpReceiver; others?: string[] },
): Promise<number> {
  await waitUntil(async () => (await countOpenWork(stack)) === 0, {
    describe: 'no work is left',
    timeoutMs: 60_000,
  })
  const { rows } = await stack.database.pool.query<{ contact: string; url: string; event: string; status: string }>(
    `select e.data ->> 'id' as contact, w.url, e.id as event, d.status from events e
     left join deliveries d on d.event_id = e.id left join webhooks w on w.id = d.webhook_id
     where e.type = 'contact.created'`,
  )
  const byContact = Map.groupBy(rows, ({ contact }) => contact)
  const missing = acknowledged.filter((contact) => byContact.get(contact)?.length !== webhooks)
  expect(missing).toEqual([])
  // Of a write whose answer was lost there is all or nothing.
  for (const [contact, deliveries] of byContact) {
    expect([contact, new Set(deliveries.map(({ event }) => event)).size, deliveries.length]).toEqual([
      contact,
      1,
      webhooks,
    ])
  }
  expect(rows.filter(({ status }) => !['SUCCEEDED', ...others].includes(status))).toEqual([])

  const receipts = receiver.requests.map(({ url, body }) => {
    const { data } = JSON.parse(body.toString()) as { data: { id: string } }
    return `${url} ${data.id}`
  })
  expect(new Set(receipts).size).toBe(receipts.length)
  const received = new Set(receipts)
  const isReceived = ({ url, contact }: { url: string; contact: string }) =>
    received.has(`${new URL(url).pathname} ${contact}`)
  expect(rows.filter((row) => row.status === 'SUCCEEDED' && !isReceived(row))).toEqual([])
  return rows.filter(({ status }) => status !== 'SUCCEEDED').length
}
