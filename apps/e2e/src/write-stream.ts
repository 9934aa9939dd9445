/** A steady stream of writes, and a check that every write was delivered. */
import { setTimeout as pause } from 'node:timers/promises'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
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
 * Expects that every acknowledged write of a workspace with one webhook has one event and one delivery, that no delivery
 * was received twice, that every SUCCEEDED delivery was received, and that no work is left. All other deliveries must
 * have a status of `others`; returns their number.
 */
export async function expectConsistentDeliveries(
  stack: Stack,
  {
    workspaceId,
    acknowledged,
    receiver,
    others = ['INTERRUPTED'],
  }: { workspaceId: string; acknowledged: string[]; receiver: HttpReceiver; others?: string[] },
): Promise<number> {
  await waitUntil(async () => (await countOpenWork(stack)) === 0, {
    describe: 'all work is done',
    timeoutMs: 60_000,
  })
  const { rows } = await stack.database.pool.query<{ contact: string; status: string | null }>(
    `select e.data ->> 'id' as contact, d.status from events e
     left join deliveries d on d.workspace_id = e.workspace_id and d.event_id = e.id
     where e.workspace_id = $1 and e.type = 'contact.created'`,
    [uuidOf(Id('wsp').parse(workspaceId))],
  )
  const written = new Set(rows.map(({ contact }) => contact))
  expect(acknowledged.filter((contact) => !written.has(contact))).toEqual([])
  // Also of a write whose response was lost. One without a delivery has the status null.
  expect(written.size).toBe(rows.length)
  expect(rows.filter(({ status }) => status === null || !['SUCCEEDED', ...others].includes(status))).toEqual([])

  const receipts = receiver.requests.map(({ body }) => {
    const { data } = JSON.parse(body.toString()) as { data: { id: string } }
    return data.id
  })
  const received = new Set(receipts)
  expect(received.size).toBe(receipts.length)
  expect(rows.filter(({ status, contact }) => status === 'SUCCEEDED' && !received.has(contact))).toEqual([])
  return rows.filter(({ status }) => status !== 'SUCCEEDED').length
}
