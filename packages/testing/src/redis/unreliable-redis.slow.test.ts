import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createUnreliableRedis, type UnreliableRedis } from './unreliable-redis.ts'

let server: UnreliableRedis
let client: Redis
beforeEach(async () => {
  server = await createUnreliableRedis()
  client = new Redis(server.url, { commandTimeout: 1_000, retryStrategy: () => 20 })
  client.on('error', () => {})
  await client.set('key', 'value')
})
afterEach(async () => {
  client.disconnect()
  await server.close()
})

test('flush deletes all data, and so does a restart on the same port', async () => {
  await server.flush()
  expect(await client.get('key')).toBeNull()
  await client.set('key', 'value')
  const { pid } = server
  await server.stop()
  await expect(client.get('key')).rejects.toThrow()
  await server.start()
  expect(server.pid).not.toBe(pid)
  expect(await client.get('key')).toBeNull()
})

test('a paused Redis does not respond until it is resumed', async () => {
  server.pause()
  await expect(client.get('key')).rejects.toThrow('timed out')
  server.resume()
  expect(await client.get('key')).toBe('value')
})

test('a test Redis uses the policy noeviction, as the queues require', async () => {
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
})

test('each server has a folder of its own and does not load the data of another', async () => {
  const folderOf = async (redis: Redis) => (await redis.config('GET', 'dir'))[1]
  const folder = await folderOf(client)
  await client.save()
  const other = await createUnreliableRedis()
  const otherClient = new Redis(other.url)
  expect(await folderOf(otherClient)).not.toBe(folder)
  expect(await otherClient.get('key')).toBeNull()
  otherClient.disconnect()
  await other.close()
})
