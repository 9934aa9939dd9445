/** A steady stream of writes, and a check that every write was delivered. */
import { setTimeout as pause } from 'node:timers/promises'
import type { HttpReceiver } from '@rapport/testing/network/receivers.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect } from 'vitest'
import { countOpenWork, type Stack } from './stack.ts'

/** Slower than one worker delivers, so that the worker catches up after a fault. */
const pauseMs = isFullRun ? 20 : 40

/** Writes contacts in three concurrent loops until `stop` is called. A failed write is not acknowledged. */
export function startWriting(stack: Stack, key: string) {
  const acknowledged: string[] = []
  const stopping = new AbortController()
  let written = 0
  async function write() {
    while (!stopping.signal.aborted) {
      written += 1
      const body = { email: `stream-${written}@example.com` }
      const response = await stack.api.call<{ id: string }>('POST', '/contacts', { key, body }).catch(() => undefined)
      if (response?.status === 201) acknowledged.push(response.body.id)
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
 * Expects that every acknowledged write has one event and a delivery for each webhook, that no delivery was received
 * twice, that every SUCCEEDED delivery was received, and that no work is left. All other deliveries must have a status
 * of `others`; returns their number.
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
    describe: 'all work is done',
    timeoutMs: 60_000,
  })
  const { rows } = await stack.database.pool.query<{ contact: string; url: string; event: string; status: string }>(
    `select e.data ->> 'id' as contact, w.url, e.id as event, d.status from events e
     left join deliveries d on d.workspace_id = e.workspace_id and d.event_id = e.id
     left join webhooks w on w.workspace_id = d.workspace_id and w.id = d.webhook_id
     where e.type = 'contact.created'`,
  )
  const byContact = Map.groupBy(rows, ({ contact }) => contact)
  const missing = acknowledged.filter((contact) => byContact.get(contact)?.length !== webhooks)
  expect(missing).toEqual([])
  // A write whose response was lost has either the event and all deliveries, or none of them.
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
