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
      requests.start(Array.from(uuids, (uuid) => ({ uuid, webhookId: of }) as TakenDelivery)),
    end: (uuids: string) => Array.from(uuids, (uuid) => running.get(uuid)?.resolve()),
    fail: (uuid: string) => running.get(uuid)?.reject(new Error('broken')),
    collect: async (maxWaitMs = 10_000) => (await requests.collectEnded(maxWaitMs)).map(({ uuid }) => uuid).join(''),
  }
}

test('outcomes are collected in the order of their ends, and others go on', async () => {
  const { requests, start, end, collect } = openRequests({ batchMs: 20 })
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

test('the next call throws the error of an attempt', async () => {
  const { requests, start, end, fail, collect } = openRequests()
  start('ab')
  fail('a')
  end('b')
  await requests.waitForAll()
  await expect(collect()).rejects.toThrow('broken')
})

test('a wait without an outcome ends after its time, and with `endWait`', async () => {
  const { requests, start, end, collect } = openRequests()
  start('ab')
  expect(await collect(1)).toBe('')
  const collecting = collect()
  requests.endWait()
  expect(await collecting).toBe('')
  expect(requests.hasNewDeliveries()).toBe(false)
  requests.endWait()
  expect(await collect()).toBe('')
  end('ab')
  expect(await collect()).toBe('ab')
  requests.endWait()
  expect(requests.hasNewDeliveries()).toBe(true)
})

test('outcomes wait for no request that started before theirs', async () => {
  const { start, end, collect } = openRequests()
  start('a')
  start('bc')
  end('bc')
  expect(await collect()).toBe('bc')
  start('d')
  end('d')
  expect(await collect()).toBe('d')
})
