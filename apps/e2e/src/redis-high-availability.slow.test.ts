/** A Redis Cluster that loses a node, and Redis Sentinel with a failover. */
import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import {
  createTestRedisCluster,
  createTestSentinels,
  type TestRedisGroup,
} from '@rapport/testing/redis/redis-cluster.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addConfirmedSubscribers, readRecipientCounts } from './campaign-recipients.ts'
import { type Stack, startStack } from './stack.ts'
import { expectConsistentDeliveries, startWriting } from './write-stream.ts'

const recipients = countRuns({ gate: 60, full: 200 })

const groups = [
  { name: 'a Redis Cluster of three nodes', create: createTestRedisCluster, needsRestart: true },
  { name: 'Redis Sentinel', create: createTestSentinels, needsRestart: false },
]

describe.each(groups)('with $name', ({ create, needsRestart }) => {
  let redis: TestRedisGroup
  let stack: Stack
  let receiver: HttpReceiver
  beforeAll(async () => {
    ;[redis, receiver] = await Promise.all([create(), startHttpReceiver(() => ({ delayMs: 5 }))])
    stack = await startStack('postgres', { REDIS_URL: redis.url, DASHBOARD_PASSWORD: 'for tests only' })
  })
  afterAll(async () => {
    await stack.close()
    await Promise.all([receiver.close(), redis.close()])
  })

  test('rate limits are exact', async () => {
    const get = (address: string) => fetch(`${stack.api.url}/contacts`, { headers: { 'x-forwarded-for': address } })
    const client = connectRedis(redis.url, {})
    const count = (address: string) => client.get(`{rapport:limit}:GET /contacts ${address}`)
    // Until the API is connected to Redis, it counts in its own memory.
    await waitUntil(async () => (await get('192.0.2.2')) && (await count('192.0.2.2')) !== null, {
      describe: 'the API counts in Redis',
    })
    const responses = await Promise.all(Array.from({ length: 130 }, () => get('192.0.2.1')))
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(100)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(30)
    expect(await count('192.0.2.1')).toBe('130')
    client.disconnect()
  })

  test('the crash of a Redis server blocks no writes, and no work is lost or repeated', async () => {
    const { key, workspaceId } = await stack.api.createWorkspace()
    await stack.api.call('POST', '/webhooks', { key, body: { url: receiver.url, eventTypes: ['contact.created'] } })
    const list = await stack.api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Monthly newsletter' } })
    await addConfirmedSubscribers(stack.database, { workspaceId, listId: list.body.id }, recipients)
    const draft = { name: 'News', subject: 'News', html: '<p>News</p>', listId: list.body.id }
    const campaign = await stack.api.call<{ id: string }>('POST', '/campaigns', { key, body: draft })
    const dashboard = await stack.api.call('GET', '/queues/api/queues', {
      headers: { authorization: `Basic ${Buffer.from('admin:for tests only').toString('base64')}` },
    })
    expect(dashboard.status).toBe(200)

    const writing = startWriting(stack, key)
    await receiver.waitFor(20)
    await stack.api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
    await redis.kill()
    const atKill = writing.acknowledged.length
    await waitUntil(() => writing.acknowledged.length > atKill + 50, { describe: 'writes continue', timeoutMs: 10_000 })
    if (needsRestart) await redis.start()
    const { length } = receiver.requests
    await receiver.waitFor(length + 20, 30_000)
    await writing.stop()
    if (!needsRestart) await redis.start()

    const { acknowledged } = writing
    const interrupted = await expectConsistentDeliveries(stack, { workspaceId, acknowledged, receiver })
    expect(interrupted).toBe(0)
    await waitUntil(async () => (await readRecipientCounts(stack.database, campaign.body.id)).pending === 0, {
      describe: 'the campaign has ended',
      timeoutMs: 30_000,
    })
    expect(await readRecipientCounts(stack.database, campaign.body.id)).toMatchObject({
      queued: recipients,
      sent: recipients,
    })
    const newsletters = stack.inbox.mails.filter(({ subject }) => subject === 'News')
    const addresses = newsletters.map((mail) => mail.to.join())
    expect([addresses.length, new Set(addresses).size]).toEqual([recipients, recipients])
  })
})
