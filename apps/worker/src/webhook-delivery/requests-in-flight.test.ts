import { newId, type WebhookId } from '@rapport/core/kernel/ids.ts'
import type { TakenDelivery } from '@rapport/core/webhooks/drain/take-deliveries.ts'
import { testOutcome } from '@rapport/testing/fixtures/factories.ts'
import { expect, test } from 'vitest'
import { createRequestsInFlight } from './requests-in-flight.ts'

const webhookId = newId('whk')

/** Requests that end when `end` is called, or fail when `fail` is. */
function openRequests({ batchMs = 10_000 } = {}) {
  const running = new Map<string, PromiseWithResolvers<void>>()
  const attempt = async ({ uuid, webhookId }: TakenDelivery) => {
    const request = Promise.withResolvers<void>()
    running.set(uuid, request)
    await request.promise
    return { uuid, webhookId, outcome: testOutcome() }
  }
  const requests = createRequestsInFlight({ attempt, batchMs })
  return {
    requests,
    start: (uuids: string, of: WebhookId = webhookId) =>
      requests.start([...uuids].map((uuid) => ({ uuid, webhookId: of }) as TakenDelivery)),
    end: (uuids: string) => [...uuids].forEach((uuid) => running.get(uuid)?.resolve()),
    fail: (uuid: string) => running.get(uuid)?.reject(new Error('broken')),
    collect: async () => (await requests.collectEnded()).map(({ uuid }) => uuid).join(''),
  }
}

test('outcomes are collected once half of the requests have ended, in that order', async () => {
  const { requests, start, end, collect } = openRequests()
  start('abcd')
  const collecting = collect()
  end('d')
  end('b')
  expect(await collecting).toBe('db')
  expect(requests.uuids()).toEqual(['a', 'c'])
  start('e')
  end('ace')
  expect(await collect()).toBe('ace')
  expect(requests.uuids()).toEqual([])
})

test('the first outcome waits for others only for a moment', async () => {
  const { start, end, collect } = openRequests({ batchMs: 1 })
  start('abcd')
  end('a')
  expect(await collect()).toBe('a')
})

test('an outcome that ends between two calls is part of the next', async () => {
  const { start, end, collect, requests } = openRequests()
  start('a')
  end('a')
  await requests.waitForAll()
  expect(await collect()).toBe('a')
})

test('the requests in flight are counted by webhook', () => {
  const { requests, start } = openRequests()
  const other = newId('whk')
  start('abc')
  start('d', other)
  expect(requests.countByWebhook()).toEqual(
    new Map([
      [webhookId, 3],
      [other, 1],
    ]),
  )
})

test('the error of an attempt is thrown by the next call, and all requests can be awaited', async () => {
  const { requests, start, end, fail, collect } = openRequests()
  start('ab')
  fail('a')
  end('b')
  await requests.waitForAll()
  await expect(collect()).rejects.toThrow('broken')
})
